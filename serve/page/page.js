// A sentence of the answer that is pointed at, or has the focus, shows its evidence. What is shown
// stays until another sentence is chosen, so that one can go and read the document.
(() => {
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
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
})();
