/* The list of selections: margin, local optimality, share of the starts; a button shows the bands of each. */
(function () {
  "use strict";
  const { el, number, button, table, basins, planePicture } = window.Explore;
  const { HALF, title } = planePicture;

  const percent = (share) => Math.round(100 * share);

  /* {box, show, describe}; `choose(key)` is called with the selection that is pressed. */
  function list(choose) {
    const { box, fill } = table("selections", ["selection", "margin", "locally optimal", "starts"]);
    const rest = el("p", { class: "ex-note" });

    /* Locally optimal ones first, then the other feasible ones; the rest are only counted. */
    function show({ judged, found, shown, colour }) {
      const share = (s) => found.shares[s.selection.join()] || 0;
      const kept = judged
        .filter((s) => s.feasible)
        .sort((s, t) => t.optimal - s.optimal || share(t) - share(s) || t.margin - s.margin);
      const focused = box.contains(document.activeElement) && document.activeElement.closest("tr")?.dataset.selection;
      fill(
        kept.map((s) => {
          const key = s.selection.join(),
            tint = s.optimal || share(s) ? colour(key) : "transparent";
          const dot = el("i", { style: `background:${tint}`, "aria-hidden": "true" });
          const press = button("", () => choose(key), { "aria-pressed": s === shown });
          press.append(dot, title(s.selection));
          return [
            { "data-selection": key },
            [press, number(s.margin, 3), s.optimal ? "yes" : "no", `${percent(share(s))} %`],
          ];
        }),
      );
      if (focused) box.querySelector(`[data-selection="${focused}"] button`)?.focus({ preventScroll: true }); // made anew
      rest.textContent = `${lost(judged.length - kept.length)} ${starts(found)}`;
    }

    return { nodes: [box, rest], show };
  }

  function lost(count) {
    if (!count) return "All selections are feasible.";
    return `${count} more ${count > 1 ? "selections are" : "selection is"} not feasible: no p ranks those tokens first.`;
  }

  function starts({ picture, shares }) {
    const side = picture.N > basins.COARSE ? basins.FINE : basins.COARSE,
      none = percent(shares[""] || 0);
    return `Starts: ${side ** 2} on a grid over the window${none ? `; ${none} % of them select nothing` : ""}.`;
  }

  /* The picture in a sentence. */
  function describe(documents, judged, { shares }) {
    const optimal = judged.filter((s) => s.optimal);
    const ends = optimal.map(
      (s) => `${percent(shares[s.selection.join()] || 0)} per cent of the starts select ${title(s.selection)}`,
    );
    return (
      `The plane from \u2212${HALF} to ${HALF}: ${documents.flat().length} tokens of ${documents.length} documents; ` +
      (ends.join(", ") || "no selection is locally optimal, 0 of them")
    );
  }

  window.Explore.planeList = { list, describe };
})();
