(() => {
  const tip = document.body.appendChild(document.createElement("div"));
  tip.className = "tip"; tip.hidden = true;
  for (const chart of document.querySelectorAll(".chart")) {
    const svg = chart.querySelector("svg");
    for (const title of svg.querySelectorAll("title")) { title.parentNode.dataset.tip = title.textContent; title.remove(); }
    chart.addEventListener("pointermove", event => {
      const told = event.target.closest("[data-tip]");
      tip.hidden = !told;
      if (!told) return;
      tip.textContent = told.dataset.tip;
      tip.style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.min(event.clientY + 18, innerHeight - tip.offsetHeight - 8) + "px";
    });
    chart.addEventListener("pointerleave", () => { tip.hidden = true; });
    let zoom = 1;
    const zoomed = (factor, x = chart.clientWidth / 2, y = chart.clientHeight / 2) => {
      const next = Math.min(16, Math.max(1, zoom * factor)), left = (chart.scrollLeft + x) * next / zoom - x, top = (chart.scrollTop + y) * next / zoom - y;
      zoom = next;
      svg.style.width = 100 * zoom + "%";
      chart.scrollTo(left, top);
    };
    chart.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;  // without, the page scrolls
      event.preventDefault();
      const box = chart.getBoundingClientRect();
      zoomed(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - box.left, event.clientY - box.top);
    }, {passive: false});
    const buttons = document.createElement("div");
    buttons.className = "zoom";
    for (const [words, name, factor] of [["+", "larger", 2], ["\u2212", "smaller", 0.5], ["1:1", "the whole chart", 0]]) {
      const button = buttons.appendChild(document.createElement("button"));
      button.textContent = words; button.title = button.ariaLabel = name; button.type = "button";
      button.addEventListener("click", () => zoomed(factor));
    }
    chart.before(buttons);
  }
  for (const table of document.querySelectorAll("table.sorts")) table.rows[0].querySelectorAll("th").forEach((head, at) => head.addEventListener("click", () => {
    const value = row => row.cells[at].textContent.trim(), number = row => parseFloat(value(row).replace(/[,%]/g, ""));
    const up = head.dataset.up !== "yes", rows = [...table.rows].slice(1), numeric = head.classList.contains("n");
    for (const other of table.rows[0].cells) delete other.dataset.up;
    head.dataset.up = up ? "yes" : "no";
    rows.sort((a, b) => (up ? 1 : -1) * (numeric ? (number(a) || 0) - (number(b) || 0) : value(a).localeCompare(value(b))));
    table.tBodies[0].append(...rows);
  }));
  const unfold = () => {  // a link leads into what is folded, too
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = place && place.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (place) place.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  let shut = [];
  addEventListener("beforeprint", () => { shut = [...document.querySelectorAll("details:not([open])")]; shut.forEach(d => d.open = true); });
  addEventListener("afterprint", () => { shut.forEach(d => d.open = false); });
})();
