// The ledger's page: choose among the claims, follow the lines of the graph. Nothing else is interactive here.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector(".ledger-filter");
  if (form) {
    const rows = [...document.querySelectorAll("table.ledger tbody tr")];
    const boxes = [...form.querySelectorAll("[data-filter]")];
    const wanted = (row) =>
      boxes.every((box) => {
        const value = box.value.trim().toLowerCase();
        if (box.dataset.filter === "words") return row.textContent.toLowerCase().includes(value);
        return !value || row.dataset[box.dataset.filter] === value;
      });
    const filter = () => {
      for (const row of rows) row.hidden = !wanted(row);
      form.querySelector("output").value = `${rows.filter((row) => !row.hidden).length} shown`;
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    const reveal = () => {
      const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (row?.hidden) {
        form.reset();
        filter();
        row.scrollIntoView();
      }
    };
    window.addEventListener("hashchange", reveal);
  }
  for (const graph of document.querySelectorAll(".graph svg")) {
    const show = (label) => {
      for (const line of graph.querySelectorAll("path"))
        line.classList.toggle("on", line.dataset.from === label || line.dataset.to === label);
      graph.classList.toggle("pointed", Boolean(label));
    };
    for (const box of graph.querySelectorAll("a")) {
      for (const event of ["mouseenter", "focus"]) box.addEventListener(event, () => show(box.dataset.label));
      for (const event of ["mouseleave", "blur"]) box.addEventListener(event, () => show(null));
    }
  }
});
