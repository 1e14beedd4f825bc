// Draw the charts of a report, with the colors of the page and the width of the window.
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  config.legend = { ...config.legend, orient: "bottom", direction: "vertical", columns: 1, layout: { bottom: { direction: "vertical", anchor: "start" } } };
  const boxes = [...document.querySelectorAll(".chart")];
  const widths = new Map(), drawings = new Map();

  // Fit the plot area, not the image, to the width of the box: font sizes stay the same.
  function fittedSpec(box) {
    const spec = JSON.parse(box.querySelector("script").textContent);
    const many = box.closest(".many"), room = box.clientWidth;
    const axisWidth = 64, widest = many ? 300 : 460;
    if (box.closest(".dashboard")) {
      rocframe.dashboard.fit(spec, room);
    } else if (spec.width > 0 && spec.width === spec.height) {
      spec.width = spec.height = Math.max(160, Math.min(room - axisWidth, widest));
    } else if (spec.width > 0) {
      spec.width = Math.max(200, room);
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    adapt(spec, room - (many ? 84 : 40), many); // legends of small charts begin at the y axis
    return spec;
  }

  // Fit legends to the width. If there are several charts of one kind, their
  // title is in the heading.
  function adapt(spec, room, many) {
    const legend = spec.encoding?.color?.legend;
    if (legend) {
      legend.labelLimit = room;
      if (room < 480 && legend.labelExpr) legend.labelExpr = shortened(legend.labelExpr, room / 6.8, 32);
    }
    // Each invisible point with a tooltip is an element. Small charts need fewer of them.
    if (many && spec.mark?.type === "point" && spec.mark.opacity === 0) {
      spec.transform = [
        ...spec.transform ?? [],
        { window: [{ op: "row_number", as: "_row" }] },
        { filter: "datum._row % 4 === 1" },
      ];
    }
    if (many && spec.title) spec.title = spec.title.subtitle ? { ...spec.title, text: "" } : undefined;
    for (const part of [...spec.layer ?? [], ...spec.vconcat ?? [], ...spec.concat ?? []]) adapt(part, room, many);
  }

  // Return the expression of a label that is shortened in the middle to `length` characters.
  function shortened(label, length, tail) {
    const most = Math.floor(length), end = Math.min(Math.floor(tail), most - 3);
    const cut = `slice((${label}), 0, ${most - end - 1}) + "…" + slice((${label}), -${end})`;
    return `length(${label}) > ${most} ? ${cut} : (${label})`;
  }

  function draw(box) {
    const dashboard = box.closest(".dashboard");
    const width = dashboard ? box.clientWidth : document.documentElement.clientWidth;
    if (widths.get(box) === width) return drawings.get(box);
    widths.set(box, width);
    const drawing = embed(box, dashboard?.querySelector(".controls"), drawings.get(box));
    drawings.set(box, drawing);
    return drawing;
  }

  async function embed(box, controls, previous) {
    const plot = box.querySelector(".plot"), old = await previous;
    const spec = rocframe.dashboard.keep(fittedSpec(box), old?.view);
    old?.finalize();
    const options = { renderer: "svg", actions: false, config, ...controls && { bind: controls } };
    return rocframe.show(box, plot, spec, options, controls);
  }

  // Draw the chart again with plain colors on white: CSS variables have no value outside the page.
  async function save(button) {
    const figure = button.closest("figure"), format = button.dataset.save;
    const box = figure.querySelector(".chart"), view = (await drawings.get(box))?.view;
    const plain = (value) => JSON.parse(
      JSON.stringify(value).replace(/var\(--[\w-]+, (#\w+)\)/g, "$1"));
    const options = { renderer: "svg", actions: false, config: { ...plain(config), background: "#fff" } };
    const result = await rocframe.embed(
      document.createElement("div"), plain(rocframe.dashboard.keep(fittedSpec(box), view)), options);
    const link = document.createElement("a");
    link.href = await result.view.toImageURL(format, 2);
    link.download = `chart-${[...document.querySelectorAll("figure")].indexOf(figure) + 1}.${format}`;
    link.click();
  }

  // A click on a title sorts the rows of its table by the numbers or the texts of the column.
  function makeSortable(table) {
    const body = table.tBodies[0], titles = [...table.tHead.rows[0].cells];
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    const number = (text) => {
      const [found] = text.replaceAll(",", "").replaceAll("−", "-").match(/-?(\d[\d.]*(e[-+]?\d+)?|∞)/i) ?? [NaN];
      return Number(String(found).replace("∞", "Infinity"));
    };
    titles.forEach((title, i) => {
      // Chromium prints no buttons in the titles of the following pages.
      const button = document.createElement("span");
      button.role = "button";
      button.tabIndex = 0;
      button.append(...title.childNodes);
      title.append(button);
      button.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        button.click();
      });
      button.addEventListener("click", () => {
        const up = title.getAttribute("aria-sort") !== "ascending";
        const rows = [...body.rows].map((row) => {
          const text = row.cells[i].textContent;
          return { row, text, value: title.classList.contains("number") ? number(text) : NaN };
        });
        rows.sort((a, b) => isNaN(a.value) - isNaN(b.value) // rows without a number come last
          || (up ? 1 : -1) * (isNaN(a.value) ? compare(a.text, b.text) : Math.sign(a.value - b.value) || 0));
        titles.forEach((one) => one.removeAttribute("aria-sort"));
        title.setAttribute("aria-sort", up ? "ascending" : "descending");
        body.append(...rows.map(({ row }) => row));
      });
    });
  }
  document.querySelectorAll("table").forEach(makeSortable);

  // If rows or columns of a table are hidden, say so below the table.
  function updateCue(box) {
    const cue = box.nextElementSibling, { rows, columns } = cue.dataset;
    const hidden = [
      ...box.scrollHeight > box.clientHeight + 1 ? [rows] : [],
      ...box.scrollWidth > box.clientWidth + 1 ? [columns] : []];
    cue.textContent = hidden.join(" ");
    cue.hidden = !hidden.length;
  }
  const tables = new ResizeObserver((entries) => entries.forEach(({ target }) => updateCue(target)));
  document.querySelectorAll(".scroll").forEach((box) => tables.observe(box));

  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) draw(target);
  }, { rootMargin: "300px" });
  // Also draw the charts that are not visible, so that search and print include all charts.
  const idle = () => new Promise((done) => { setTimeout(done); });
  async function drawAll() {
    for (const box of boxes) { await idle(); await draw(box); }
    document.body.dataset.drawn = "yes";
  }

  boxes.forEach((box) => observer.observe(box));
  addEventListener("load", drawAll);
  addEventListener("beforeprint", () => { boxes.forEach(draw); });
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });
  for (const tools of document.querySelectorAll(".save")) {
    tools.hidden = false;
    tools.addEventListener("click", ({ target }) => { if (target.dataset.save) save(target); });
  }
})();
