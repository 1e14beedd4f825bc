(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  config.legend = { ...config.legend, orient: "bottom", direction: "vertical", columns: 1 };
  const boxes = [...document.querySelectorAll(".chart")];
  const widths = new Map(), drawings = new Map();

  // Letters keep their size on any screen: the plane of a chart is made to fit, not its picture.
  function fitted(box) {
    const spec = JSON.parse(box.querySelector("script").textContent);
    const many = box.closest(".many"), room = box.clientWidth;
    const beside = 64, widest = many ? 300 : 460;
    if (box.closest(".board")) {
      spec.vconcat[0].columns = abreast(room);
    } else if (spec.width > 0 && spec.width === spec.height) {
      spec.width = spec.height = Math.max(160, Math.min(room - beside, widest));
    } else if (spec.width > 0) {
      spec.width = Math.max(200, room);
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    adapt(spec, room - 40, many);
    return spec;
  }

  // Above many charts of one kind stands what kind it is.
  function adapt(spec, room, many) {
    const legend = spec.encoding?.color?.legend;
    if (legend) legend.labelLimit = room;
    if (legend?.columns) legend.columns = Math.max(1, Math.floor(legend.columns * room / 1000));
    if (many && spec.title) spec.title = spec.title.subtitle ? { ...spec.title, text: "" } : undefined;
    for (const part of [...spec.layer ?? [], ...spec.vconcat ?? [], ...spec.concat ?? []]) adapt(part, room, many);
  }

  // A panel of a board is 250 pixels and its axis.
  const abreast = (room) => Math.max(1, Math.min(3, Math.floor((room + 26) / 335)));

  // What is drawn anew stays where its sliders are.
  function set(spec, live) {
    for (const one of spec.params ?? []) {
      if (!live || one.bind?.input !== "range") continue;
      one.value = one.select ? [{ angle: live.signal(`${one.name}_angle`) }] : live.signal(one.name);
    }
    return spec;
  }

  function draw(box) {
    const board = box.closest(".board");
    const width = board ? abreast(box.clientWidth) : document.documentElement.clientWidth;
    if (widths.get(box) === width) return drawings.get(box);
    widths.set(box, width);
    const drawing = drawn(box, board?.querySelector(".controls"), drawings.get(box));
    drawings.set(box, drawing);
    return drawing;
  }

  async function drawn(box, controls, before) {
    const place = box.querySelector(".plot"), old = await before;
    try {
      const spec = set(fitted(box), old?.view);
      old?.finalize();
      const made = await rocframe.embed(
        place, spec, { renderer: "svg", actions: false, config, ...controls && { bind: controls } });
      box.dataset.drawn = "yes";
      return made;
    } catch (error) {
      box.dataset.drawn = "no";
      place.textContent = String(error);
      return undefined;
    }
  }

  // A picture is drawn anew, for white paper: outside of the page its names of colors say nothing.
  async function save(button) {
    const figure = button.closest("figure"), format = button.dataset.save;
    const box = figure.querySelector(".chart"), live = (await drawings.get(box))?.view;
    const plain = (value) => JSON.parse(
      JSON.stringify(value).replace(/var\(--[\w-]+, (#\w+)\)/g, "$1"));
    const options = { renderer: "svg", actions: false, config: { ...plain(config), background: "#fff" } };
    const made = await rocframe.embed(
      document.createElement("div"), plain(set(fitted(box), live)), options);
    const link = document.createElement("a");
    link.href = await made.view.toImageURL(format, 2);
    link.download = `chart-${[...document.querySelectorAll("figure")].indexOf(figure) + 1}.${format}`;
    link.click();
  }

  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) draw(target);
  }, { rootMargin: "300px" });
  // Those out of sight come after, one by one: who prints or searches the page finds all of it.
  const idle = () => new Promise((done) => { setTimeout(done); });
  async function drawAll() {
    for (const box of boxes) { await idle(); await draw(box); }
    document.body.dataset.drawn = "yes";
  }

  boxes.forEach((box) => near.observe(box));
  addEventListener("load", drawAll);
  addEventListener("beforeprint", () => { boxes.forEach(draw); });
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });
  for (const tools of document.querySelectorAll(".save")) {
    tools.hidden = false;
    tools.addEventListener("click", ({ target }) => { if (target.dataset.save) save(target); });
  }
})();
