// Tables: made from rows, sorted by a click on a column's head, filtered by a word.

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function csv({ head, rows }) {
  const cell = (value) => {
    const text = value == null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function fillTable(table, head, rows) {
  const cell = (value) => {
    if (value instanceof Node) return value;
    return typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 5 }) : value ?? "";
  };
  const line = ([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, cell(first)),
    ...rest.map((value) => element("td", {}, cell(value))));
  table.replaceChildren(
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col", tabindex: 0, title: "Sort" }, text)))),
    element("tbody", {}, ...rows.map(line)),
  );
}

// The number that a cell begins with, such as 95.0 ± 0.7, −2.7 [−4.2, −1.3], 1,234 or <0.001.
function value(cell) {
  const found = /^[<≥]?\s*(-?\d[\d.]*(?:e[+-]?\d+)?)/i.exec(cell.textContent.trim().replace(/,(?=\d{3})/g, "").replace("−", "-"));
  return found ? Number(found[1]) : NaN;
}

// Numbers by size, texts by letters; cells without a number come last, whichever way.
function compare(a, b, sign) {
  const [x, y] = [value(a), value(b)];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return sign * a.textContent.localeCompare(b.textContent, "en", { numeric: true });
}

function sortBy(head) {
  const table = head.closest("table");
  const column = [...head.parentNode.children].indexOf(head);
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows].sort((a, b) => compare(a.cells[column], b.cells[column], sign));
  table.tBodies[0].append(...rows);
}

function placeSorting() {
  const head = (event) => event.target.closest?.("thead th");
  document.addEventListener("click", (event) => head(event) && sortBy(head(event)));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !head(event)) return;
    event.preventDefault();
    sortBy(head(event));
  });
  markHeads();
}

const markHeads = () => document.querySelectorAll("thead th:not([tabindex])").forEach((th) => {
  th.tabIndex = 0;
  th.title = "Sort";
});

// Rows of a table that hold a word, whatever its case.
function filterRows(table, word) {
  for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(word);
}
