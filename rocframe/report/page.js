(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  config.legend = { ...config.legend, orient: "bottom", direction: "vertical", columns: 1 };
  const boxes = [...document.querySelectorAll(".chart")];
  const widths = new Map();

  // Letters keep their size on any screen: the plane of a chart is made to fit, not its picture.
  function fitted(box) {
    const spec = JSON.parse(box.querySelector("script").textContent);
    const many = box.closest(".many"), room = box.clientWidth;
    const beside = 64, widest = many ? 300 : 460;
    if (spec.width > 0 && spec.width === spec.height) {
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
    if (spec.encoding?.color?.legend) spec.encoding.color.legend.labelLimit = room;
    if (many && spec.title) spec.title = spec.title.subtitle ? { ...spec.title, text: "" } : undefined;
    for (const layer of spec.layer ?? []) adapt(layer, room, many);
  }

  function draw(box) {
    const width = document.documentElement.clientWidth;
    if (widths.get(box) === width) return undefined;
    widths.set(box, width);
    const place = box.querySelector(".plot");
    return rocframe.embed(place, fitted(box), { renderer: "svg", actions: false, config }).then(
      () => { box.dataset.drawn = "yes"; },
      (error) => { box.dataset.drawn = "no"; place.textContent = String(error); });
  }

  // A picture is drawn anew, for white paper: outside of the page its names of colors say nothing.
  async function save(button) {
    const figure = button.closest("figure"), format = button.dataset.save;
    const plain = (value) => JSON.parse(
      JSON.stringify(value).replace(/var\(--[\w-]+, (#\w+)\)/g, "$1"));
    const options = { renderer: "svg", actions: false, config: { ...plain(config), background: "#fff" } };
    const made = await rocframe.embed(
      document.createElement("div"), plain(fitted(figure.querySelector(".chart"))), options);
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
