// Looks up the answer at the chosen stops; `vegaEmbed` is bundled with it.
(async function () {
  const packed = Uint8Array.from(atob(document.getElementById("answers").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { controls, specs, points } = await new Response(stream).json();
  const form = document.getElementById("controls"), said = document.getElementById("said");
  const chart = document.getElementById("chart");
  const chosen = controls.map((one) => one.first);
  let result = null, drawn = -1, busy = false, again = false;

  function rows(columns) {
    const names = Object.keys(columns);
    const count = names.length ? columns[names[0]].length : 0;
    return Array.from({ length: count }, (_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
  }

  async function draw() {
    const place = controls.reduce((sum, one, at) => sum * one.stops.length + chosen[at], 0);
    const [words, number, columns] = points[place];
    said.innerHTML = words;
    chart.style.opacity = number < 0 ? 0.25 : 1;
    if (number < 0) return;
    const data = Object.fromEntries(Object.entries(columns).map(([name, some]) => [name, rows(some)]));
    if (number !== drawn) {
      if (result) result.finalize();
      const spec = { ...structuredClone(specs[number]), datasets: data };
      result = await vegaEmbed(chart, spec, { actions: false, renderer: "svg" });
      drawn = number;
      return;
    }
    for (const [name, some] of Object.entries(data)) result.view.data(name, some);
    // names of other lengths need other margins
    await result.view.resize().runAsync();
  }

  // one at a time; of what comes meanwhile the last is drawn
  async function changed() {
    again = true;
    if (busy) return;
    busy = true;
    try {
      while (again) { again = false; await draw(); }
    } catch (fault) {
      // the next choice draws anew
      result = null;
      drawn = -1;
      chart.textContent = `The chart could not be drawn: ${fault.message}`;
    } finally {
      busy = false;
    }
  }

  controls.forEach((one, at) => {
    if (one.stops.length < 2) return;
    const label = document.createElement("label"), value = document.createElement("output");
    const input = document.createElement(one.named ? "select" : "input");
    label.append(one.label);
    if (one.named) {
      one.stops.forEach((words, stop) => input.add(new Option(words, stop, stop === one.first, stop === one.first)));
    } else {
      Object.assign(input, { type: "range", min: 0, max: one.stops.length - 1, step: 1 });
      input.value = one.first;
      input.setAttribute("aria-valuetext", one.stops[one.first]);
      value.textContent = one.stops[one.first];
      label.append(value);
    }
    input.addEventListener("input", () => {
      chosen[at] = Number(input.value);
      value.textContent = one.stops[chosen[at]];
      input.setAttribute("aria-valuetext", one.stops[chosen[at]]);
      changed();
    });
    label.append(input);
    form.append(label);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  await changed();
})();
