// A chart whose rows are exchanged; `vegaEmbed` is bundled with it.
async function render({ model, el }) {
  let result = null, drawn = null, busy = false, again = false;

  async function draw() {
    const spec = model.get("spec"), data = model.get("data");
    el.style.overflowX = "auto";
    el.style.opacity = model.get("faded") ? 0.25 : 1;
    if (!spec || !spec["$schema"]) return;
    if (spec !== drawn) {
      if (result) result.finalize();
      const whole = { ...structuredClone(spec), datasets: structuredClone(data) };
      result = await vegaEmbed(el, whole, { actions: false, renderer: "svg" });
      drawn = spec;
      return;
    }
    for (const [name, rows] of Object.entries(data)) result.view.data(name, structuredClone(rows));
    // names of other lengths need other margins
    await result.view.resize().runAsync();
  }

  // one at a time; of what comes meanwhile the last is drawn
  async function changed() {
    again = true;
    if (busy) return;
    busy = true;
    await Promise.resolve();
    while (again) {
      again = false;
      try { await draw(); } catch (error) {
        // the next answer draws anew
        result = null;
        drawn = null;
        el.textContent = `The chart failed: ${error.message}`;
      }
    }
    busy = false;
  }

  model.on("change:spec change:data change:faded", changed);
  await changed();
  return () => { model.off("change:spec change:data change:faded", changed); if (result) result.finalize(); };
}
export default { render };
