// Shows the rows of the scorecard that the filters choose. What is chosen stands in the address behind #, so that it can be sent on.
const form = document.getElementById("filters");
const rows = [...document.querySelectorAll("#rows tbody tr")];
const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const chosen = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

function show() {
  const wanted = chosen();
  for (const field of form.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
  const text = (wanted.get("text") ?? "").toLowerCase();
  const names = ["paper", "exhibit", "verdict", "evidence"].filter((name) => wanted.get(name));
  let count = 0;
  for (const row of rows) {
    row.hidden = !names.every((name) => row.dataset[name] === wanted.get(name)) || !words.get(row).includes(text);
    count += !row.hidden;
  }
  const exhibit = wanted.get("exhibit");
  form.querySelector("output").textContent = `${count} of ${rows.length} claims` + (exhibit ? ` (${exhibit})` : "");
}

function choose() {
  const wanted = chosen();
  for (const [name, value] of new FormData(form)) value ? wanted.set(name, value) : wanted.delete(name);
  // in place: a step back leads to the page before, not to the letter before
  history.replaceState(null, "", `#${wanted}`);
  show();
}

form.addEventListener("input", choose);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => {
  history.replaceState(null, "", "#=");
  setTimeout(show);
});
window.addEventListener("hashchange", show);
show();
