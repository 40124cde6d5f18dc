// The explanation of one program: its decisions, loops, code, and what bounds its speed.
'use strict';

const d = lines('data').found[0], gpu = d.gpu;
if (gpu) {
  d.tree = gpu.tree;
  d.asm = gpu.code;
  d.report = {nests: [], declined: [], code_bytes: gpu.bytes, isa: gpu.device.target};
}
const caches = gpu ?
    [{name: 'shared', size: gpu.device.shared}, {name: 'L2', size: gpu.device.l2}] :
    ((d.machine || {}).cache || [])
        .map((size, i) => ({name: 'L' + (i + 1), size}))
        .filter(c => c.size > 0);
const hue = new Map();  // line of the tree -> colour
d.tree.lines.filter(l => l.kind).forEach((l, i) => hue.set(l.line, series(i)));
const hot = new Set(d.report.nests.flatMap(n => n.loops.map(l => l.line)));

function homeOf(size) {
  const c = caches.find(cache => size <= cache.size);
  return c ? c.name : 'memory';
}

// --- Certificate -------------------------------------------------------------------------------
// Without a time, that of the described device: nothing in the space is faster.
function described() {
  const s = d.space, list = [fact(
      String(gpu.kernels.length), gpu.kernels.length > 1 ? 'kernels' : 'kernel',
      `for ${gpu.device.model}, described: nothing was timed`)];
  if (s && finite(s.bound))
    list.push(
        fact(...duration(s.bound).split(' '), 'no implementation in its space can beat this'));
  if (s && finite(s.decided))
    list.push(fact(
        ...duration(s.decided).split(' '), 'the lower bound of what was decided'));
  list.push(fact(...bytes(gpu.bytes).split(' '), 'of PTX text'));
  $('main').append(element('div', {class: 'facts'}, list));
}
function certificate() {
  if (!d.timing) return described();
  const t = d.timing, s = d.space,
        list = [fact(
            ...duration(t.median_us).split(' '), `median of a run; best ${duration(t.best_us)}`)];
  if (d.roof)
    list.push(fact(
        (100 * d.roof.us / t.median_us).toFixed(0), '%',
        `of what the machine could do at most, bound by ${d.roof.bound}`));
  if (t.flops > 0)
    list.push(fact(
        figure(t.flops / t.median_us / 1e3), 'GFLOP/s',
        `${gpu ? gpu.device.model : t.isa + ', ' + (t.threads > 1 ? t.threads + ' threads' : 'one thread')}; ${figure(t.bytes / t.median_us / 1e3)} GB/s of arguments`));
  if (s && finite(s.bound) && t.median_us < s.bound)
    list.push(fact(
        ...duration(s.bound).split(' '),
        'no certificate: measured below the bound; please report this page'));
  else if (s && finite(s.bound))
    list.push(fact(
        ...duration(s.bound).split(' '),
        `certificate: no implementation in its space can beat this; gap ${
            (100 * (t.median_us / s.bound - 1)).toFixed(0)} %`));
  list.push(fact(
      ...duration(t.compile_us).split(' '), `to compile, into ${bytes(t.code_bytes)} of code`));
  $('main').append(element('div', {class: 'facts'}, list));
}

// --- Program -----------------------------------------------------------------------------------
function block(title, words) {
  return element(
      'div', {}, element('h3', {}, title), element('pre', {class: 'code'}, words.trimEnd()));
}
function program() {
  const source = d.source ? block(d.file.split('/').pop(), d.source) : null;
  const schedule = d.schedule.trim() ? block('Schedule', d.schedule) : null;
  card(
      'program', 'Program',
      element(
          'p', {},
          'What to compute, with every range and type; no loops, no order. And how: a Schedule ' +
              'that can be edited and given back by --schedule.' +
              (d.report.stripe ? ' The Stripe text decides no loops, so they are chosen.' : '')),
      element(
          'div', {class: 'pair'}, element('div', {}, source, schedule),
          block('Program', d.program)));
}

// --- Decisions ---------------------------------------------------------------------------------
// How much
// longer at least with another value: the least over its values, all else kept, or open.
function decisions() {
  const s = d.space;
  if (!s || !s.decisions.length) return;
  const now = s.decided || s.bound, ratio = us => finite(us) ? us / now : NaN;
  const rows = s.decisions.map(x => {
    const kept = x.others.filter(o => finite(o.kept));
    const best = kept.reduce((a, o) => !a || o.kept < a.kept ? o : a, null),
          worst = kept.reduce((a, o) => !a || o.kept > a.kept ? o : a, null);
    return {...x, best, worst, span: worst ? Math.max(ratio(worst.kept), 1 / ratio(best.kept)) : 1};
  });
  const matter = rows.filter(r => r.span > 1.005).sort((a, b) => b.span - a.span),
        shown = matter.slice(0, 24);
  const plot = shown.length ? chart('decisions', (svg, width) => {
    const phone = width < 560, high = phone ? 42 : 26, top = 30,
          left = phone ? 0 : Math.min(300, width * 0.34), bottom = top + shown.length * high;
    const all = shown.flatMap(r => r.others.map(o => ratio(o.kept)).filter(finite));
    const lo = Math.min(0.95, ...all) / 1.04, hi = Math.max(1.3, ...all) * 1.06,
          x = logarithmic(lo, hi, left + 8, width - 14);
    let edge = -Infinity;
    for (const t of hi / lo < 4 ? [0.5, 0.8, 1, 1.2, 1.5, 2, 3] :
                                  [0.1, 0.25, 0.5, 1, 2, 4, 10, 30, 100, 1000])
      if (t >= lo && t <= hi && x(t) - edge > 36) {
        edge = x(t);
        svg.append(line(x(t), top - 4, x(t), bottom, {
          stroke: t === 1 ? 'var(--muted)' : 'var(--grid)',
          'stroke-dasharray': t === 1 ? '3 3' : null
        }));
        svg.append(text(x(t), top - 10, t + '×', {class: 'dim', 'text-anchor': 'middle'}));
      }
    shown.forEach((r, i) => {
      const y = top + i * high, middle = phone ? y + 30 : y + high / 2, g = element('g', {});
      g.append(element('rect', {x: 0, y, width, height: high, fill: 'transparent'}));
      const name = text(0, phone ? y + 15 : middle + 4, '', {class: 'mono'});
      name.append(
          element('tspan', {}, r.name + ' = '),
          element('tspan', {'font-weight': 650, fill: 'var(--win)'}, r.value));
      g.append(name);
      r.others.forEach(o => {
        if (finite(o.kept))
          g.append(element('circle', {
            cx: x(ratio(o.kept)),
            cy: middle,
            r: 4,
            opacity: .75,
            fill: ratio(o.kept) < 0.995 ? 'var(--s2)' : 'var(--s1)',
            'data-tip':
                `${r.name} = ${o.value}\nat least ${duration(o.kept)} with all else as it is` +
                (finite(o.free) ? `,\n${duration(o.free)} with all else open` : '')
          }));
      });
      g.append(element('circle', {
        cx: x(1),
        cy: middle,
        r: 5,
        fill: 'var(--win)',
        stroke: 'var(--card)',
        'stroke-width': 1.5,
        'data-tip': `${r.name} = ${r.value}, as it is: at least ${duration(now)}`
      }));
      svg.append(g);
    });
    return bottom + 8;
  }) : null;
  const other = which => [
    {
      name: `${which} other`,
      value: r => r[which] ? r[which].value : '',
      show: r => r[which] ? element('code', {}, r[which].value) : '–',
      left: true
    },
    {
      name: 'at least',
      value: r => r[which] ? r[which].kept : NaN,
      show: r => r[which] ? duration(r[which].kept) : '–'
    }
  ];
  const table = sortable(
      [
        {name: 'decision', value: r => r.name, show: r => element('code', {}, r.name), left: true},
        {name: 'value', value: r => r.value, show: r => element('code', {}, r.value), left: true}, {
          name: 'others possible',
          value: r => r.others.filter(o => finite(o.kept)).length,
          show: r => `${r.others.filter(o => finite(o.kept)).length} of ${r.others.length}`
        },
        ...other('best'), ...other('worst')
      ],
      rows);
  const bounds = s.resources.filter(r => r.us > 0).sort((a, b) => b.us - a.us);
  card(
      'decisions', 'Decisions',
      element(
          'p', {},
          `The lower bound of what was decided is ${duration(now)}, of the whole space ${
              duration(s.bound)}. Each dot is another value of one decision, all else as it is: ` +
              'to the right of 1× it cannot be as fast as the bound of what was chosen; to ' +
              'the left it might be. What is not drawn makes no difference to the bound.'),
      plot,
      element(
          'details', {}, element('summary', {}, `All ${rows.length} decisions as a table`), table),
      element('h3', {}, 'What bounds it'), chart('resources', (svg, width) => {
        const left = 76, high = 24, measured = d.timing ? d.timing.median_us : 0,
              x = linear(
                  0, Math.max(...bounds.map(b => b.us), measured) * 1.02, left, width - 80),
              h = bounds.length * high + 8;
        if (measured)
          svg.append(
              line(x(measured), 0, x(measured), h, {
                stroke: 'var(--lose)',
                'stroke-width': 1.5,
                'stroke-dasharray': '4 3',
                'data-tip': 'measured: ' + duration(measured)
              }),
              text(x(measured) - 6, h + 12, 'measured', {'text-anchor': 'end', class: 'dim'}));
        bounds.forEach((b, i) => {
          const y = i * high + 4;
          svg.append(
              text(0, y + 13, b.name), element('rect', {
                x: left,
                y,
                width: Math.max(2, x(b.us) - left),
                height: 15,
                rx: 2,
                fill: i ? 'var(--s1)' : 'var(--win)',
                opacity: .8
              }),
              text(x(b.us) + 6, y + 13, duration(b.us), {class: 'dim'}));
        });
        return h + 20;
      }));
}

// --- Loops -------------------------------------------------------------------------------------
const levelColour = {
  shared: 'var(--s0)',
  L1: 'var(--s0)',
  L2: 'var(--s1)',
  L3: 'var(--s2)',
  memory: 'var(--s4)'
};
function meter(size) {
  const last = caches.length ? caches[caches.length - 1].size : 1 << 25,
        x = logarithmic(64, last * 8, 0, 100),
        share = Math.max(1, Math.min(100, x(Math.max(64, size))));
  const marks = caches.map(
      c => element(
          'i', {class: 'mark', style: `left:${x(c.size)}%`, title: `${c.name} ${bytes(c.size)}`}));
  return element(
      'span', {
        class: 'meter',
        title: `touches ${bytes(size)}, which ${
            homeOf(size) === 'memory' ? 'no cache holds' : homeOf(size) + ' holds'}`
      },
      element('b', {style: `width:${share}%;background:${levelColour[homeOf(size)]}`}), marks);
}
function loops() {
  const root = element('div', {class: 'tree'}), stack = [{depth: -1, node: root}];
  for (const l of d.tree.lines) {
    while (stack[stack.length - 1].depth >= l.depth) stack.pop();
    const row = element(
        'div', {
          class: 'row',
          'data-line': l.line,
          style: hue.has(l.line) ? `--c:${hue.get(l.line)}` : null
        },
        element(
            'code', {class: 'what'}, l.text,
            hot.has(l.line) ? element('span', {class: 'pill hot'}, 'hot') : null),
        finite(l.touches) ?
            element(
                'span', {class: 'cost'}, meter(l.touches),
                element('span', {class: 'num'}, bytes(l.touches)),
                element(
                    'span', {
                      class: 'pill',
                      style: `background:color-mix(in srgb, ${
                          levelColour[homeOf(l.touches)]} 22%, transparent)`
                    },
                    homeOf(l.touches)),
                element('span', {class: 'num wide'}, l.flops ? amount(l.flops, 'flop') : '')) :
            null);
    const node = element(
        'div', {
          class: 'node ' + (l.kind || 'plain'),
          style: hue.has(l.line) ? `--c:${hue.get(l.line)}` : null
        },
        row);
    stack[stack.length - 1].node.append(node);
    stack.push({depth: l.depth, node});
  }
  card(
      'loops', 'Loops',
      element(
          'p', {},
          'Every loop encloses what it repeats. The bar is what one whole run of the line ' +
          'touches, on a logarithmic scale with marks where the caches end.'),
      element('div', {class: 'legend'}, [...caches.map(c => c.name), 'memory'].map(n => {
        const c = caches.find(k => k.name === n);
        return n === 'memory' || c ?
            element(
                'span', {}, element('i', {style: `background:${levelColour[n]}`}),
                c ? `fits ${n}, ${bytes(c.size)}` : 'fits no cache') :
            null;
      })),
      element('div', {'data-chart': 'loops', class: 'treebox'}, root));
}

// --- Code --------------------------------------------------------------------------------------
function segments() {
  const list = [{line: 0, code: []}];
  for (const text of d.asm.split('\n')) {
    const head = /^\s*(?:#|\/\/)\s*(\d+) \|/.exec(text);
    if (head)
      list.push({line: Number(head[1]), code: []});
    else if (text.trim())
      list[list.length - 1].code.push(
          text.replace(/^ {8}/, '    ').replace(/^ *\.byte .*/, '    nop'));
  }
  return list.filter(s => s.code.length);
}
function code() {
  const side = element(
      'div', {class: 'side'},
      d.tree.lines.map(
          l => element(
              'div', {
                class: 'mini',
                'data-line': l.line,
                style: `--c:${hue.get(l.line) || 'transparent'};padding-left:${8 + l.depth * 12}px`
              },
              element('code', {}, l.text))));
  const all = segments(), most = Math.max(...all.map(s => s.code.length));
  const body = element('div', {class: 'listing'}, all.map(s => {
    const l = d.tree.lines[s.line - 1],
          open = hot.has(s.line) || s.code.length <= 10 || s.code.length === most;
    return element(
        'details', {
          class: 'seg',
          'data-line': s.line,
          style: `--c:${hue.get(s.line) || 'var(--even)'}`,
          open: open ? '' : null
        },
        element(
            'summary', {}, element('code', {}, l ? l.text : 'entry and exit'),
            element(
                'span', {class: 'pill'},
                s.code.length + (s.code.length === 1 ? ' instruction' : ' instructions'))),
        element('pre', {class: 'code'}, s.code.join('\n')));
  }));
  const holder = element('div', {class: 'twin', 'data-chart': 'code'}, side, body);
  const light = event => {
    const at = event.target.closest('[data-line]'), lineNumber = at ? at.dataset.line : '';
    holder.querySelectorAll('[data-line]')
        .forEach(
            e => e.classList.toggle('lit', e.dataset.line === lineNumber && lineNumber !== ''));
  };
  holder.addEventListener('pointerover', light);
  holder.addEventListener('pointerleave', light);
  side.addEventListener('click', event => {
    const at = event.target.closest('[data-line]'),
          to = at && body.querySelector(`[data-line="${at.dataset.line}"]`);
    if (to) {
      to.open = true;
      to.scrollIntoView({block: 'nearest'});
    }
  });
  card(
      'code', gpu ? 'PTX' : 'Machine code',
      element(
          'p', {},
          `${bytes(d.report.code_bytes)} for ${
              d.report
                  .isa}. The colours are those of the loops; touch a line to find its instructions.`),
      holder);
}

// --- Kernels -----------------------------------------------------------------------------------
function bar(share, words) {
  return element(
      'span', {class: 'meter', title: words},
      element(
          'b', {style: `width:${Math.max(1, Math.min(100, 100 * share))}%;background:var(--s1)`}));
}
function kernels() {
  if (!gpu) return;
  const dev = gpu.device, product = a => a.reduce((x, y) => x * y, 1);
  const rows = gpu.kernels.map(k => {
    const warps = Math.ceil(k.threads / 32);
    return {
      ...k,
      blocks: product(k.grid),
      warps: warps * k.resident,
      held: k.registers * 32 * warps * k.resident / dev.registers,
      memory: k.shared * k.resident / dev.shared
    };
  });
  const shape = a => a.slice(0, a[2] > 1 ? 3 : a[1] > 1 ? 2 : 1).join(' × ');
  const table = sortable(
      [
        {name: 'kernel', value: k => k.name, show: k => element('code', {}, k.name), left: true},
        {name: 'blocks', value: k => k.blocks, show: k => shape(k.grid)},
        {name: 'threads', value: k => k.threads, show: k => shape(k.block)},
        {name: 'registers', value: k => k.registers, show: k => String(k.registers)},
        {name: 'shared', value: k => k.shared, show: k => bytes(k.shared)},
        {name: 'spilled', value: k => k.local, show: k => bytes(k.local)},
        {name: 'barriers', value: k => k.barriers, show: k => String(k.barriers)},
        {name: 'blocks a processor', value: k => k.resident, show: k => String(k.resident)},
        {name: 'limited by', value: k => k.limit, show: k => k.limit, left: true},
        {name: 'waves', value: k => k.waves, show: k => figure(k.waves)}
      ],
      rows);
  const use = rows.map(
      k => element(
          'div', {class: 'port'}, element('h3', {}, element('code', {}, k.name)),
          element(
              'p', {}, bar(k.occupancy, 'warps'),
              ` ${percent(k.occupancy)} of the warps: ${k.warps} of ${dev.threads / 32}`),
          element('p', {}, bar(k.held, 'registers'), ` ${percent(k.held)} of the registers`),
          element('p', {}, bar(k.memory, 'shared'), ` ${percent(k.memory)} of shared memory`),
          element(
              'p', {},
              k.waves <= 1 ?
                  `${k.blocks} blocks keep ${percent(Math.min(1, k.blocks / dev.processors))} of ${
                      dev.processors} processors busy, at once.` :
                  `${k.blocks} blocks run in ${Math.ceil(k.waves)} waves of ${
                      k.resident * dev.processors}; the last one is ${
                      percent(k.waves - Math.ceil(k.waves) + 1)} full.`)));
  card(
      'kernels', 'Kernels and occupancy',
      element(
          'p', {},
          `What a processor of ${dev.model} (${dev.target}) holds at a time: ${
              dev.threads} threads, ${dev.registers} registers, ${bytes(dev.shared)} of shared ` +
              'memory. ' +
              (dev.name === 'emulate' ?
                   'Registers are those that live at a time in the PTX text; an assembler may ' +
                       'need a few more or less.' :
                   'Registers are those of the loaded code.')),
      table, ...use);
}

// --- Ports -------------------------------------------------------------------------------------
function ports() {
  const all = d.report.nests.flatMap(n => n.loops);
  if (!all.length) return;
  const names = ['fma', 'vector', 'shuffle', 'load', 'store', 'scalar', 'issue'];
  const plots = all.map(l => {
    const busy = names.map(n => ({n, ops: l.ports[n] || 0})).filter(p => p.ops > 0);
    const cycles = busy.map(p => l.busy[p.n]);
    return element(
        'div', {class: 'port'},
        element(
            'h3', {}, element('code', {style: `color:${hue.get(l.line)}`}, l.loop), ' ',
            element('span', {class: 'pill'}, `${l.block} block, ${l.accumulators} sums`)),
        chart(
            'ports',
            (svg, width) => {
              const left = 62, high = 22,
                    x = linear(0, Math.max(l.cycles, ...cycles) * 1.05, left, width - 90),
                    h = busy.length * high + 6;
              svg.append(line(x(l.cycles), 0, x(l.cycles), h, {
                stroke: 'var(--muted)',
                'stroke-dasharray': '3 3',
                'data-tip': `${figure(l.cycles)} cycles an iteration`
              }));
              busy.forEach(
                  (p, i) => svg.append(
                      text(0, i * high + 15, p.n), element('rect', {
                        x: left,
                        y: i * high + 4,
                        width: Math.max(1, x(cycles[i]) - left),
                        height: 14,
                        rx: 2,
                        fill: p.n === l.bound_by ? 'var(--win)' : 'var(--s1)',
                        opacity: p.n === l.bound_by ? .9 : .55
                      }),
                      text(
                          x(cycles[i]) + 6, i * high + 15,
                          `${p.ops} in ${figure(cycles[i])} cycles`, {class: 'dim'})));
              return h;
            }),
        element(
            'p', {},
            `At least ${figure(l.cycles)} cycles an iteration, bound by ${l.bound_by}; ${
                percent(l.of_peak)} of peak; ${figure(l.fma_per_load)} multiply-adds a load.`));
  });
  card('ports', 'What its instructions occupy', ...plots);
  if (d.report.declined.length)
    $('#ports').append(
        element('h3', {}, 'Declined'),
        element(
            'ul', {},
            d.report.declined.map(
                x => element('li', {}, typeof x === 'string' ? x : Object.values(x).join(': ')))));
}

// --- Roofline ----------------------------------------------------------------------------------
// Rates of the machine, or of the device; the time is the lower bound where nothing was timed.
function rates() {
  if (gpu)
    return {
      peak: gpu.device.gflops[gpu.float_bits === 64 ? 1 : 0],
      levels: ['L2', 'memory'].map(name => ({name, gbps: gpu.device.gbps[name]}))
    };
  const t = d.timing, m = d.machine, bits = t.float_bits === 64 ? 'f64' : 'f32';
  return {
    peak: m.gflops[t.isa] ? m.gflops[t.isa][bits][0] : NaN,
    levels: ['L1', 'L2', 'L3', 'memory']
                .filter(n => m.gbps[n])
                .map(n => ({name: n, gbps: Math.max(m.gbps[n].load[0], m.gbps[n].copy[0])}))
  };
}
function roof() {
  const t = d.timing ||
      {flops: gpu.flops, bytes: gpu.bytes_used, median_us: (d.space || {}).decided || NaN};
  if (!(t.flops > 0) || !finite(t.median_us)) return;
  const {peak, levels} = rates();
  if (gpu)
    d.roof = {
      us: Math.max(t.flops / peak, t.bytes / levels[1].gbps) / 1e3,
      level: t.bytes > gpu.device.l2 ? 'memory' : 'L2'
    };
  const px = t.flops / t.bytes, py = t.flops / t.median_us / 1e3;
  card('roofline', 'Roofline', chart('roofline', (svg, width) => {
         const left = 46, height = 340, bottom = height - 42, lo = Math.min(0.05, px / 2),
               hi = Math.max(200, px * 3), least = Math.min(0.5, py / 2),
               most = Math.max(peak, py) * 2;
         const x = logarithmic(lo, hi, left, width - 10), y = logarithmic(least, most, bottom, 10);
         decades(lo, hi).forEach(
             v => svg.append(
                 line(x(v), 10, x(v), bottom, {stroke: 'var(--grid)'}),
                 text(x(v), bottom + 17, String(v), {class: 'dim', 'text-anchor': 'middle'})));
         decades(least, most)
             .forEach(
                 v => svg.append(
                     line(left, y(v), width - 10, y(v), {stroke: 'var(--grid)'}),
                     text(left - 6, y(v) + 4, String(v), {class: 'dim', 'text-anchor': 'end'})));
         levels.forEach(l => {
           const knee = peak / l.gbps, from = Math.max(lo, least / l.gbps);
           const tx = x(from * 1.15), ty = y(from * 1.15 * l.gbps) - 5;
           const angle = Math.atan2(y(peak) - y(from * l.gbps), x(knee) - x(from)) * 180 / Math.PI;
           if (from < knee)
             svg.append(
                 line(x(from), y(from * l.gbps), x(knee), y(peak), {
                   stroke: 'var(--muted)',
                   'stroke-width': l.name === (d.roof || {}).level ? 2 : 1,
                   opacity: l.name === (d.roof || {}).level ? 1 : .5
                 }),
                 text(
                     tx, ty, `${l.name} ${figure(l.gbps)} GB/s`,
                     {class: 'dim', 'font-size': 11, transform: `rotate(${angle} ${tx} ${ty})`}));
         });
         svg.append(
             line(
                 x(peak / Math.max(...levels.map(l => l.gbps))), y(peak), x(hi), y(peak),
                 {stroke: 'var(--muted)', 'stroke-width': 1.5}),
             text(
                 x(hi) - 4, y(peak) - 7, figure(peak) + ' GFLOP/s',
                 {class: 'dim', 'text-anchor': 'end'}));
         const top = Math.min(
             peak,
             px * (levels.find(l => l.name === (d.roof || {}).level) || {gbps: Infinity}).gbps);
         svg.append(
             line(x(px), y(py), x(px), y(top), {stroke: 'var(--lose)', 'stroke-dasharray': '3 3'}));
         svg.append(element('circle', {
           cx: x(px),
           cy: y(py),
           r: 7,
           fill: 'var(--win)',
           stroke: 'var(--card)',
           'stroke-width': 2,
           'data-tip': `${figure(py)} GFLOP/s at ${figure(px)} operations a byte`
         }));
         svg.append(text(
             x(px) + (x(px) > width * .7 ? -12 : 12), y(py) + 18,
             d.timing ? `${figure(py)} GFLOP/s, ${percent((d.roof || {}).us / t.median_us)}` :
                        `at most ${figure(py)} GFLOP/s, by the lower bound`,
             {class: 'strong', 'text-anchor': x(px) > width * .7 ? 'end' : 'start'}));
         svg.append(text(
             width - 10, bottom + 34, 'operations per byte of its arguments',
             {class: 'dim', 'text-anchor': 'end'}));
         return height;
       }));
}

theme();
certificate();
program();
decisions();
kernels();
loops();
code();
ports();
roof();
$('main').append(element(
    'footer', {},
    'Made by loopwright explain. Bounds hold for ' +
        (gpu ? 'the rates of this device' : 'this machine\'s measured rates') +
        ' and data that is warm in the caches.'));
