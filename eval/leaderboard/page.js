const text = document.getElementById("text"), kind = document.getElementById("kind");

function filter() {
  const wanted = text.value.trim().toLowerCase();
  for (const row of document.querySelectorAll("tbody tr")) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted)
      || (kind.value !== "" && row.className !== kind.value);
  }
}

// Numbers by value and names by alphabet; what is not known stays last either way.
function sort(head) {
  const body = head.closest("table").tBodies[0], column = head.cellIndex;
  const up = head.getAttribute("aria-sort") === "descending";
  const key = (row) => row.cells[column].dataset.value;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
  const rows = [...body.rows].sort((one, other) => {
    const a = key(one), b = key(other);
    if (a === "" || b === "") return (a === "") - (b === "");
    return up ? compare(a, b) : compare(b, a);
  });
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows);
}

text.addEventListener("input", filter);
kind.addEventListener("change", filter);
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button.parentNode));
}
