// Formulas wider than their column are set smaller, down to seven tenths; what is still wider scrolls, and its edge says so.
const LEAST = 0.7;

function fitFormulas() {
  const boxes = [...document.querySelectorAll("mjx-container")];
  for (const box of boxes) {
    box.dataset.size ??= parseFloat(box.style.fontSize) || 100;
    box.style.fontSize = `${box.dataset.size}%`;
  }
  const wide = boxes.map((box) => {
    const column = box.hasAttribute("display") ? box : box.parentElement.closest("div, p, li, td, dd, figcaption");
    return [box, column.clientWidth / box.querySelector("mjx-math").getBoundingClientRect().width];
  });
  for (const [box, share] of wide) {
    if (share > 0 && share < 1) box.style.fontSize = `${box.dataset.size * Math.max(LEAST, 0.98 * share)}%`;
    box.classList.toggle("more", share > 0 && share < LEAST);
  }
}

addEventListener("load", () => window.MathJax?.startup?.promise.then(fitFormulas));
addEventListener("resize", fitFormulas);
