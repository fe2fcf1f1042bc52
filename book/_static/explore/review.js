/* Your own review: what the model trained on IMDB or Yelp attends to in a text, and how |p| decides how sharply. */
(function () {
  "use strict";
  const X = window.Explore;
  const { el, svg, number, COLOURS, GREY } = X;
  const M = X.reviewMath;
  const HERE = document.currentScript.src.replace(/[^/]*$/, "");

  const LONGEST = 2000; // words that are shown in colour
  const TOP = 12; // tokens in the table
  const REACH = 4; // times the trained |p|
  const CHART = { width: 360, height: 150, left: 40, right: 10, top: 12, bottom: 34 };
  const EXAMPLES = {
    "praise with a doubt":
      "A slow start, and the plot makes little sense. But the cast is superb, the score is beautiful, and I left the cinema with a smile.",
    "blame with a kind word":
      "The photography is lovely. Everything else is a waste of two hours: a dull story, awful dialogue and not one laugh.",
    "a negation": "This is not a bad film. It is not boring, and I would not call it the worst of the year.",
    "a restaurant":
      "The waiter was rude, the soup was cold, and they charged us twice. The dessert was delicious, though.",
  };

  /* The table of a corpus, as a script beside this one: pages opened from a folder may not fetch. */
  function load(corpus, done, failed) {
    const ready = () => done(M.index(window.ExploreTables[corpus]));
    if (window.ExploreTables && window.ExploreTables[corpus]) return ready();
    document.head.append(el("script", { src: `${HERE}${corpus}_tokens.js`, onload: ready, onerror: failed }));
  }

  X.mount("review", (box) => {
    const tables = {};
    let scale = 1;
    const text = el("textarea", {
      rows: 4,
      "aria-label": "your review",
      spellcheck: "false",
      dir: "auto",
      oninput: () => draw(),
    });
    const example = el(
      "select",
      {
        onchange: () => {
          text.value = EXAMPLES[example.value];
          draw();
        },
      },
      Object.keys(EXAMPLES).map((name) => el("option", { value: name }, name)),
    );
    const corpus = el(
      "select",
      { onchange: () => choose() },
      el("option", { value: "imdb" }, "film reviews (IMDB)"),
      el("option", { value: "yelp" }, "Yelp reviews"),
    );
    const length = X.slider("length of p", { min: 0, max: REACH, step: 0.05, value: 1 }, (x) => {
      scale = x;
      draw();
    });
    const verdict = el("p", { class: "ex-verdict", "aria-live": "polite" });
    const words = el("div", {
      class: "ex-words",
      dir: "auto",
      role: "region",
      "aria-label": "the text, coloured",
      tabindex: 0,
    });
    const rows = el("tbody", {});
    const chart = el("div", { class: "ex-chart drawing", role: "img" });
    const unknown = el("p", { class: "ex-note", dir: "auto" });

    box.append(
      el(
        "div",
        { class: "ex-bar" },
        el("label", {}, "Model trained on ", corpus),
        el("label", {}, "Example ", example),
      ),
      text,
      length.row,
      words,
      el(
        "p",
        { class: "ex-note ex-legend" },
        el("i", { style: `background:${COLOURS[0]}99` }),
        "speaks for ",
        el("i", { style: `background:${COLOURS[1]}99` }),
        "speaks against; the stronger the colour, the more attention; ",
        el("s", {}, "unknown"),
        " words are passed over",
      ),
      verdict,
      el(
        "div",
        { class: "ex-columns ex-even" },
        el("div", {}, chart),
        el(
          "div",
          { class: "ex-scroll", tabindex: 0, role: "region", "aria-label": "tokens by attention" },
          el(
            "table",
            { class: "ex-table" },
            el(
              "thead",
              {},
              el(
                "tr",
                {},
                ["token", "times", "attention", "value \u03b3"].map((name) => el("th", { scope: "col" }, name)),
              ),
            ),
            rows,
          ),
        ),
      ),
      unknown,
    );

    function choose() {
      const name = corpus.value;
      if (tables[name]) return draw();
      verdict.textContent = "loading the table of tokens";
      load(
        name,
        (table) => {
          tables[name] = table;
          draw();
        },
        () => {
          verdict.textContent = `The table ${name}_tokens.js is missing beside this page: build the book again.`;
        },
      );
    }

    function draw() {
      const table = tables[corpus.value];
      if (!table) return;
      const found = M.read(text.value, table),
        { A, f } = M.attend(found, scale);
      const most = Math.max(...A, 0),
        effective = 1 / A.reduce((sum, a) => sum + a * a, 0);
      length.say(scale === 0 ? "0: plain average" : scale === 1 ? "as trained" : `${number(scale)} \u00d7 trained`);
      show(found, A, most);
      const size = `${found.words.length} words, ${found.known.length} known`;
      verdict.textContent =
        f === null
          ? found.words.length
            ? `No verdict: ${size}.`
            : "No verdict: the text has no word."
          : `f = ${number(f, 3, true)}: ${f > 0 ? "positive" : f < 0 ? "negative" : "undecided"}, P(positive) = ${number(1 / (1 + Math.exp(-f)), 3)}; ${size}; ` +
            `attention as if spread evenly over ${number(effective, 1)} of them.`;
      const tally = M.tally(found, A);
      rows.replaceChildren(
        ...tally
          .slice(0, TOP)
          .map((row) =>
            el(
              "tr",
              {},
              el("td", {}, el("bdi", {}, row.token)),
              el("td", {}, String(row.times)),
              el("td", {}, number(row.attention, 4)),
              el("td", {}, number(row.gamma, 3, true)),
            ),
          ),
      );
      const strange = [...new Set(found.words.filter((word) => word.z === undefined).map((word) => word.token))];
      unknown.textContent =
        (tally.length > TOP ? `${tally.length - TOP} more known tokens. ` : "") +
        (strange.length
          ? `Unknown: ${strange.slice(0, TOP).join(", ")}${strange.length > TOP ? `, and ${strange.length - TOP} more` : ""}.`
          : "");
      curve(found, f);
      box.dataset.f = f === null ? "" : f;
    }

    /* The text, word by word, as text nodes: whatever is typed stays text. */
    function show({ shown, words: all, known }, A, most) {
      const mass = new Map(known.map((word, k) => [word, A[k]])),
        pieces = [];
      let at = 0;
      for (const word of all.slice(0, LONGEST)) {
        pieces.push(shown.slice(at, word.start));
        const a = mass.get(word),
          piece = shown.slice(word.start, word.stop);
        if (a === undefined) pieces.push(el("s", {}, piece));
        else {
          const tint = word.gamma > 0 ? COLOURS[0] : word.gamma < 0 ? COLOURS[1] : GREY;
          const strength = Math.round(153 * (a / most))
            .toString(16)
            .padStart(2, "0"); // at most 60 % solid: the ink stays readable
          pieces.push(
            el(
              "span",
              {
                style: `background:${tint}${strength}`,
                title: `attention ${number(a, 4)}, value ${number(word.gamma, 3, true)}`,
              },
              piece,
            ),
          );
        }
        at = word.stop;
      }
      pieces.push(all.length > LONGEST ? ` \u2026 and ${all.length - LONGEST} more words` : shown.slice(at));
      words.replaceChildren(...pieces);
    }

    /* f against the length of p, from the average to a hard choice. */
    function curve(found, now) {
      if (now === null) {
        chart.removeAttribute("aria-label");
        return chart.replaceChildren();
      }
      const points = Array.from({ length: 81 }, (_, k) => [(k * REACH) / 80, M.attend(found, (k * REACH) / 80).f]);
      const values = points.map(([, f]) => f),
        low = Math.min(0, ...values),
        high = Math.max(0, ...values),
        span = high - low || 1;
      const x = (s) => CHART.left + (s / REACH) * (CHART.width - CHART.left - CHART.right);
      const y = (f) => CHART.height - CHART.bottom - ((f - low) / span) * (CHART.height - CHART.top - CHART.bottom);
      const tick = (f) => svg("text", { x: CHART.left - 6, y: y(f) + 4, "text-anchor": "end" }, number(f, 1));
      chart.replaceChildren(
        svg(
          "svg",
          { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "ex-curve" },
          svg("path", { class: "ex-zero", d: `M${x(0)} ${y(0)}H${x(REACH)}` }),
          svg("path", { class: "ex-trained", d: `M${x(1)} ${CHART.top}V${CHART.height - CHART.bottom}` }),
          svg("path", {
            class: "ex-line",
            d: "M" + points.map(([s, f]) => `${x(s).toFixed(1)} ${y(f).toFixed(1)}`).join("L"),
            stroke: COLOURS[2],
          }),
          svg("circle", {
            cx: x(scale).toFixed(1),
            cy: y(now).toFixed(1),
            r: 5.5,
            fill: now > 0 ? COLOURS[0] : COLOURS[1],
          }),
          tick(0),
          high - 0 > 0.2 * span ? tick(high) : null,
          0 - low > 0.2 * span ? tick(low) : null,
          ...[0, 1, 2, 3, 4].map((s) =>
            svg("text", { x: x(s), y: CHART.height - 18, "text-anchor": "middle" }, String(s)),
          ),
          svg(
            "text",
            { x: x(REACH / 2), y: CHART.height - 3, "text-anchor": "middle" },
            "length of p, in trained lengths",
          ),
          svg("text", { x: x(0) + 4, y: CHART.top }, "f"),
        ),
      );
      chart.setAttribute(
        "aria-label",
        `f against the length of p: ${number(points[0][1])} for the plain average, ${number(M.attend(found, 1).f)} as trained, ${number(points[80][1])} at ${REACH} times the length; now ${number(now)}.`,
      );
    }

    text.value = EXAMPLES[example.value];
    choose();
  });
})();
