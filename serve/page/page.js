(() => {
  // A sentence of the answer that is pointed at, tapped, or has the focus, shows its evidence. What
  // is shown stays until another is chosen, so that one can go and read the document.
  const show = (event) => {
    const sentence = event.target.closest?.(".mx-sentence");
    if (!sentence || sentence.classList.contains("mx-on")) return;
    const result = sentence.closest(".mx-result");
    for (const old of result.querySelectorAll(".mx-on")) old.classList.remove("mx-on");
    const evidence = result.querySelectorAll(`[data-of~="${sentence.dataset.sentence}"]`);
    for (const one of [sentence, ...evidence]) one.classList.add("mx-on");
    result.querySelector(".mx-said").textContent = sentence.dataset.said;
    if (evidence.length) bringIntoView(evidence[0], result.querySelector(".mx-documents"));
  };
  // Scrolls the documents alone: the page must not move under the pointer.
  const bringIntoView = (evidence, documents) => {
    const inner = evidence.getBoundingClientRect();
    const outer = documents.getBoundingClientRect();
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      documents.scrollTop += inner.top - outer.top - outer.height / 3;
    }
  };
  for (const kind of ["mouseover", "focusin", "click"]) document.addEventListener(kind, show);

  // An example fills the form, and is seen to; then the verdict comes into view, where it is not.
  const SEEN = 900; // milliseconds, as long as the form's colours take in page.css
  let filled = 0;
  const scrollTo = (element) => {
    const { top } = element.getBoundingClientRect();
    if (top >= 0 && top < innerHeight / 2) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
  };
  document.addEventListener("click", (event) => {
    const example = event.target.closest?.(".mx-examples button");
    if (!example) return;
    filled = Date.now();
    for (const old of document.querySelectorAll("[aria-pressed]")) old.removeAttribute("aria-pressed");
    example.setAttribute("aria-pressed", "true");
    const form = document.getElementById("form");
    form.classList.add("mx-filled");
    setTimeout(() => form.classList.remove("mx-filled"), SEEN);
    scrollTo(form);
  });
  // What is there already may stay, with another class: then only what is inside it is new.
  const comes = (node) => node.closest?.("#verdicts") && node.closest(".mx-results, .mx-error");
  const watch = (changes) => {
    if (!changes.some(({ addedNodes }) => [...addedNodes].some(comes))) return;
    const verdicts = document.getElementById("verdicts");
    setTimeout(() => scrollTo(verdicts), Math.max(0, filled + SEEN - Date.now()));
  };
  new MutationObserver(watch).observe(document, { childList: true, subtree: true });

  // A file is judged in one request, whose response brings what to show and the verdicts.
  const say = (text) => {
    const alert = Object.assign(document.createElement("p"), { className: "mx-error", textContent: text });
    alert.setAttribute("role", "alert");
    document.getElementById("overview").replaceChildren(alert);
  };
  async function* lines(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part; !(part = await reader.read()).done; ) {
      const parts = (rest + part.value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
  }
  const judge = async (file, name, link) => {
    const sent = await fetch(`/page/file?judge=${encodeURIComponent(name)}`, {
      method: "POST",
      headers: { "Content-Type": "application/jsonl" },
      body: file,
    });
    if (!sent.ok) throw new Error((await sent.json()).error.message);
    const verdicts = [];
    for await (const line of lines(sent.body)) {
      const step = JSON.parse(line);
      document.getElementById("overview").innerHTML = step.html;
      verdicts.push(step.verdicts);
    }
    const blob = new Blob(verdicts, { type: "application/jsonl" });
    link.hidden = !blob.size;
    link.href = URL.createObjectURL(blob);
  };
  document.addEventListener("submit", async (event) => {
    if (event.target.id !== "file-form") return;
    event.preventDefault();
    const [file, name, button, link] = ["file", "file-judge", "ask-file", "download"].map((id) =>
      document.getElementById(id),
    );
    if (!file.files.length) return say("Choose a file first.");
    button.disabled = link.hidden = true;
    URL.revokeObjectURL(link.href);
    try {
      await judge(file.files[0], name.value, link);
    } catch (error) {
      say(error instanceof TypeError ? "The connection broke; try again." : error.message);
    }
    button.disabled = false;
  });
})();
