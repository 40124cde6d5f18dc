// What the report and the explanation share: elements, SVG, scales, tips, the theme, tables that
// sort.
'use strict';
const $ = (selector, within) => (within || document).querySelector(selector);

function element(name, attributes, ...children) {
  const svg = [
    'svg', 'g', 'rect', 'line', 'path', 'circle', 'text', 'tspan', 'title', 'polyline'
  ].includes(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) :
                  document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== undefined && value !== null) e.setAttribute(key, value);
  for (const child of children.flat())
    if (child !== undefined && child !== null)
      e.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return e;
}

// --- Numbers -----------------------------------------------------------------------------------
const finite = x => typeof x === 'number' && isFinite(x);
function figure(x, digits = 3) {
  if (!finite(x)) return '–';
  const a = Math.abs(x);
  if (a >= 1e6 || (a > 0 && a < 1e-3)) return x.toExponential(1);
  const places = a >= 100 ? 0 : a >= 10 ? Math.max(0, digits - 2) : Math.max(0, digits - 1);
  return x.toFixed(places);
}
function amount(n, unit) {
  for (const [size, prefix] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
    if (n >= size) return figure(n / size) + ' ' + prefix + unit;
  return n + ' ' + unit;
}
const percent = x => finite(x) ? (100 * x).toFixed(x < 0.1 ? 1 : 0) + ' %' : '–';
function duration(us) {
  if (!finite(us)) return '–';
  if (us < 1) return figure(us * 1e3) + ' ns';
  if (us < 1e3) return figure(us) + ' µs';
  if (us < 1e6) return figure(us / 1e3) + ' ms';
  return figure(us / 1e6) + ' s';
}
function bytes(n) {
  if (!finite(n)) return '–';
  if (n < 1024) return figure(n, 3) + ' B';
  if (n < 1 << 20) return figure(n / 1024) + ' KiB';
  if (n < 1 << 30) return figure(n / (1 << 20)) + ' MiB';
  return figure(n / (1 << 30)) + ' GiB';
}
const mean = xs => xs.length ? Math.exp(xs.reduce((s, x) => s + Math.log(x), 0) / xs.length) : NaN;
function quantile(sorted, q) {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

// --- Scales ------------------------------------------------------------------------------------
const linear = (lo, hi, from, to) => x => from + (x - lo) / (hi - lo) * (to - from);
const logarithmic = (lo, hi, from, to) => {
  const a = Math.log(lo), b = Math.log(hi);
  return x => from + (Math.log(Math.max(x, 1e-30)) - a) / (b - a) * (to - from);
};
function decades(lo, hi) {
  const ticks = [];
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) ticks.push(10 ** e);
  return ticks.filter(t => t >= lo * 0.999 && t <= hi * 1.001);
}

// --- Charts ------------------------------------------------------------------------------------
// draw(svg,
// width) fills the svg and returns its height; drawn again when the width changes.
function chart(name, draw) {
  const holder = element('div', {class: 'chart', 'data-chart': name});
  const svg = element('svg', {role: 'img', 'aria-label': name});
  const tip = element('div', {class: 'tip'});
  holder.append(svg, tip);
  let last = 0;
  const render = () => {
    const width = Math.floor(holder.clientWidth);
    if (!width || width === last) return;
    last = width;
    svg.replaceChildren();
    const height = draw(svg, width);
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('height', height);
  };
  new ResizeObserver(() => requestAnimationFrame(render)).observe(holder);
  const show = event => {
    const target = event.target.closest('[data-tip]');
    if (!target) {
      tip.style.opacity = 0;
      return;
    }
    tip.textContent = target.getAttribute('data-tip');
    tip.style.whiteSpace = 'pre-line';
    const box = holder.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    tip.style.left = Math.max(0, Math.min(x + 12, box.width - tip.offsetWidth - 4)) + 'px';
    tip.style.top = Math.max(0, y - tip.offsetHeight - 10) + 'px';
    tip.style.opacity = 1;
  };
  holder.addEventListener('pointermove', show);
  holder.addEventListener('pointerdown', show);
  holder.addEventListener('pointerleave', () => {
    tip.style.opacity = 0;
  });
  return holder;
}
function text(x, y, words, attributes) {
  return element('text', {x, y, ...attributes}, words);
}
function line(x1, y1, x2, y2, attributes) {
  return element('line', {x1, y1, x2, y2, ...attributes});
}
const series = i => `var(--s${i % 10})`;

// --- Tables ------------------------------------------------------------------------------------
// columns:
// [{name, value(row), show(row), left}]; a value sorts, what is shown need not be it.
function sortable(columns, rows) {
  const body = element('tbody');
  const fill = list => body.replaceChildren(
      ...list.map(row => element('tr', {}, columns.map(c => {
                    const shown = c.show ? c.show(row) : c.value(row);
                    return element('td', {class: c.left ? 'left' : null}, shown);
                  }))));
  const heads = columns.map((c, i) => {
    const th = element(
        'th', {class: c.left ? 'left' : null, 'data-sort': i, tabindex: 0, scope: 'col'}, c.name);
    const sort = () => {
      const down = th.getAttribute('aria-sort') !== 'descending';
      heads.forEach(h => h.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = row => {
        const v = c.value(row);
        return v === undefined || v === null || v !== v ? -Infinity : v;
      };
      fill([...rows].sort((a, b) => {
        const x = key(a), y = key(b);
        const order = typeof x === 'string' || typeof y === 'string' ?
            String(x).localeCompare(String(y)) :
            x - y;
        return down ? -order : order;
      }));
    };
    th.addEventListener('click', sort);
    th.addEventListener('keydown', e => {
      if (e.key === 'Enter') sort();
    });
    return th;
  });
  fill(rows);
  return element(
      'div', {class: 'scroll'},
      element('table', {}, element('thead', {}, element('tr', {}, heads)), body));
}

// --- The page ----------------------------------------------------------------------------------
function theme() {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)');
  const button = $('button.theme');
  let chosen = new URLSearchParams(location.search).get('theme');
  const apply = () => {
    const now = chosen || (dark.matches ? 'dark' : 'light');
    root.dataset.theme = now;
    button.textContent = now === 'dark' ? 'Light' : 'Dark';
  };
  button.addEventListener('click', () => {
    chosen = root.dataset.theme === 'dark' ? 'light' : 'dark';
    apply();
  });
  dark.addEventListener('change', apply);
  apply();
}
function card(id, title, ...children) {
  const bar = $('nav.bar .grow');
  bar.before(element('a', {href: '#' + id}, title));
  const section = element('section', {class: 'card', id}, element('h2', {}, title), ...children);
  $('main').append(section);
  return section;
}
function fact(value, unit, what) {
  return element(
      'div', {class: 'fact'},
      element('b', {}, value, unit ? element('small', {}, ' ' + unit) : null),
      element('span', {}, what));
}
function lines(id) {
  const found = [];
  let bad = 0;
  for (const line of $('#' + id).textContent.split('\n')) {
    if (!line.trim()) continue;
    try {
      found.push(JSON.parse(line));
    } catch (error) {
      bad++;
    }
  }
  return {found, bad};
}
