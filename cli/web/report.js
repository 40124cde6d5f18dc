// The report: rows of a history, of tunings, of one machine, as charts and tables.
'use strict';

// The newest row of each item, or those of one run.
function pick(records, run) {
  const rows = new Map();
  for (const r of records)
    if (r.kind === 'row' && (!run || r.run === run))
      rows.set([r.suite, r.group, r.item].join('\n'), r);
  return [...rows.values()];
}
function best(row) {
  const peers = (row.peers || []).filter(p => p.counts && finite(p.ratio));
  return peers.reduce((a, p) => !a || p.ratio < a.ratio ? p : a, null);
}
function verdict(row) {
  const p = best(row);
  return !p ? 'none' : p.high < 1 ? 'lose' : p.low > 1 ? 'win' : 'even';
}
const colour = {
  win: 'var(--win)',
  even: 'var(--even)',
  lose: 'var(--lose)'
};
const timed = row => row.suite === 'compile' || row.suite === 'front';
function ratioText(x) {
  return (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2)) + '×';
}

const brief = (text, n) => text.length > n ? text.slice(0, n - 1) + '…' : text;

// --- Ratio to the best peer, and part of peak --------------------------------------------------
function bars(rows) {
  return chart('ratio and part of peak', (svg, width) => {
    const phone = width < 560, high = phone ? 46 : 27, top = phone ? 30 : 34;
    const longest = Math.max(...rows.map(r => r.item.length)),
          label = phone ? 0 : Math.min(280, 26 + longest * 6.6);
    const peaked = rows.some(r => finite(r.of_peak)), words = phone ? 0 : 148,
          gap = phone ? 14 : 24;
    // Without anybody to compare with, the part of peak has the room, and rates stand for ratios.
    const compared = rows.some(best);
    const peakWidth = !peaked ? 0 :
        !compared             ? width - label - words - gap :
        phone                 ? width * 0.26 :
                                width * 0.17;
    const x0 = label, x1 = width - peakWidth - gap - words;
    const ratios = rows.map(best).filter(Boolean).map(p => p.ratio);
    const hi = Math.max(1.5, ...ratios) * 1.12, lo = Math.min(0.75, ...ratios) / 1.12;
    const x = logarithmic(lo, hi, x0, x1), p0 = x1 + gap + words,
          p = linear(0, 1, p0, p0 + peakWidth - 46);
    const groups = [];
    rows.forEach(r => {
      if (groups[groups.length - 1] !== r.group) groups.push(r.group);
    });
    const bottom = top + rows.length * high + groups.length * 26;
    let edge = -Infinity;
    for (const t of !compared   ? [] :
             hi / lo < 6        ? [0.5, 0.75, 1, 1.5, 2, 3] :
             hi < 40            ? [0.1, 0.25, 0.5, 1, 2, 4, 10, 25] :
                                  [0.01, 0.1, 1, 10, 100, 1000]) {
      if (t < lo || t > hi || x(t) - edge < 36) continue;
      edge = x(t);
      svg.append(line(x(t), top - 6, x(t), bottom, {
        stroke: t === 1 ? 'var(--muted)' : 'var(--grid)',
        'stroke-width': 1,
        'stroke-dasharray': t === 1 ? '3 3' : null
      }));
      svg.append(text(x(t), top - 12, t + '×', {class: 'dim', 'text-anchor': 'middle'}));
    }
    for (const t of !peaked ? [] : compared ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
      svg.append(line(p(t), top - 6, p(t), bottom, {stroke: 'var(--grid)'}));
      if (!phone || !compared || t !== 0.5)
        svg.append(text(p(t), top - 12, t * 100 + (t === 1 ? ' % of peak' : ''), {
          class: 'dim',
          'text-anchor': t === 0 ? 'start' :
              t === 1 && phone   ? 'end' :
                                   'middle',
          dx: t === 1 && phone ? 34 : 0
        }));
    }
    let y = top, group = null;
    for (const row of rows) {
      if (row.group !== group) {
        svg.append(text(0, y + 18, row.group, {class: 'strong', 'font-size': 12.5}));
        y += 26;
        group = row.group;
      }
      const middle = phone ? y + 30 : y + high / 2, thick = phone ? 11 : 13, peer = best(row),
            how = verdict(row);
      const said = row.note ? row.note : [
        row.item + (row.sizes ? '  ' + row.sizes : ''),
        figure(row.rate) + ' ' + row.unit + ', ' + percent(row.of_peak) + ' of peak',
        ...(row.peers || [])
            .map(
                q => q.name + ' ' + figure(q.rate) +
                    (q.counts   ? '' :
                         q.same ? ' (another algorithm)' :
                                  ' (differs)'))
      ].join('\n');
      const g = element('g', {'data-tip': said});
      g.append(element('rect', {x: 0, y, width, height: high, fill: 'transparent'}));
      g.append(phone ? text(0, y + 16, row.item) : text(14, middle + 4, row.item));
      if (peer) {
        const from = x(1), to = x(peer.ratio);
        g.append(element('rect', {
          x: Math.min(from, to),
          y: middle - thick / 2,
          width: Math.max(2, Math.abs(to - from)),
          height: thick,
          rx: 2,
          fill: colour[how],
          opacity: .85
        }));
        const a = Math.max(x0, x(Math.max(lo, peer.low))), b = Math.min(x1, x(peer.high));
        g.append(
            line(a, middle, b, middle, {stroke: 'var(--ink)', 'stroke-width': 1, opacity: .55}));
        for (const e of [a, b])
          g.append(line(e, middle - 3, e, middle + 3, {stroke: 'var(--ink)', opacity: .55}));
        const said = [
          element(
              'tspan', {fill: how === 'even' ? 'var(--soft)' : colour[how], 'font-weight': 600},
              ratioText(peer.ratio)),
          element('tspan', {dx: 5}, peer.name)
        ];
        g.append(
            phone ? text(width, y + 16, said, {'text-anchor': 'end'}) :
                    text(x1 + 14, middle + 4, said));
      } else {
        const rate = finite(row.rate) ? figure(row.rate) + ' ' + row.unit : '';
        g.append(text(
            phone ? width : x1 + 14, phone ? y + 16 : middle + 4,
            row.note ? brief(row.note, 24) : compared ? 'no peer' : rate,
            {class: 'dim', 'text-anchor': phone ? 'end' : 'start'}));
      }
      if (finite(row.of_peak)) {
        const share = Math.min(1.1, row.of_peak);
        g.append(element('rect', {
          x: p(0),
          y: middle - thick / 2,
          width: Math.max(1, p(share) - p(0)),
          height: thick,
          rx: 2,
          fill: 'var(--s1)',
          opacity: .75
        }));
        if (!phone) g.append(text(p(share) + 6, middle + 4, percent(row.of_peak), {class: 'dim'}));
      }
      svg.append(g);
      y += high;
    }
    return bottom + 6;
  });
}

// --- Compile times -----------------------------------------------------------------------------
function compileTimes(rows) {
  const ours = [], peers = new Map();
  for (const r of rows) {
    if (finite(r.compile_us)) ours.push(r.compile_us);
    (r.suite === 'compile' && r.times_us || []).forEach(t => ours.push(t));
    if (r.suite === 'compile')
      for (const p of r.peers || []) {
        if (!peers.has(p.name)) peers.set(p.name, []);
        if (finite(p.us)) peers.get(p.name).push({us: p.us, item: r.item});
      }
  }
  ours.sort((a, b) => a - b);
  if (!ours.length) return null;
  const names = [...peers.keys()];
  const note = element(
      'p', {},
      `Ours: half of ${ours.length} programs in ${duration(quantile(ours, .5))}, 99 % in ` +
          `${duration(quantile(ours, .99))}. Peers: one dot a program.`);
  return [
    note,
    chart(
        'compile times',
        (svg, width) => {
          const phone = width < 560, left = phone ? 64 : 110, high = 110, row = 30;
          const lo = Math.min(10, ours[0] / 1.2),
                hi = Math.max(2e6, ...[...peers.values()].flat().map(p => p.us)) * 1.1;
          const x = logarithmic(lo, hi, left, width - 12), bottom = high + 14 + names.length * row;
          const unit = t => t < 1e3 ? t + ' µs' : t < 1e6 ? t / 1e3 + ' ms' : t / 1e6 + ' s';
          for (const t of decades(lo, hi)) {
            svg.append(line(x(t), 6, x(t), bottom, {stroke: 'var(--grid)'}));
            svg.append(text(x(t), bottom + 18, unit(t), {class: 'dim', 'text-anchor': 'middle'}));
          }
          const bins = phone ? 40 : 80, count = new Array(bins).fill(0),
                at = linear(left, width - 12, 0, bins);
          ours.forEach(t => {
            count[Math.max(0, Math.min(bins - 1, Math.floor(at(x(t)))))]++;
          });
          const most = Math.max(...count), step = (width - 12 - left) / bins;
          count.forEach((n, i) => {
            if (n)
              svg.append(element('rect', {
                x: left + i * step + .5,
                width: Math.max(1, step - 1),
                y: high - n / most * (high - 14),
                height: n / most * (high - 14),
                rx: 1.5,
                fill: 'var(--win)',
                opacity: .85,
                'data-tip': n + ' programs'
              }));
          });
          svg.append(text(0, high - 6, 'Loopwright', {class: 'strong'}));
          svg.append(line(left, high, width - 12, high, {stroke: 'var(--line)'}));
          names.forEach((name, i) => {
            const y = high + 14 + (i + .5) * row;
            svg.append(text(0, y + 4, name));
            peers.get(name).forEach(p => svg.append(element('circle', {
              cx: x(p.us),
              cy: y,
              r: 5,
              fill: series(i + 1),
              opacity: .8,
              'data-tip': `${name}, ${p.item}\n${duration(p.us)}`
            })));
          });
          return bottom + 28;
        })
  ];
}

// --- Roofline ----------------------------------------------------------------------------------
function roofline(rows, machine, suites) {
  const points = rows.filter(r => r.flops > 0 && r.bytes > 0 && r.us > 0 && (!r.sizes || r.item))
                     .map(r => ({row: r, x: r.flops / r.bytes, y: r.flops / r.us / 1e3}));
  if (!points.length) return null;
  return chart('roofline', (svg, width) => {
    const phone = width < 560, left = 46, height = phone ? 360 : 460, bottom = height - 44;
    const peak = machine.peak, xs = points.map(p => p.x), ys = points.map(p => p.y);
    const lo = Math.min(0.05, ...xs) / 1.3, hi = Math.max(200, ...xs) * 1.3;
    const least = Math.min(0.5, ...ys) / 1.4, most = Math.max(peak || 0, ...ys) * 1.8;
    const x = logarithmic(lo, hi, left, width - 10), y = logarithmic(least, most, bottom, 10);
    for (const t of decades(lo, hi)) {
      svg.append(line(x(t), 10, x(t), bottom, {stroke: 'var(--grid)'}));
      svg.append(text(x(t), bottom + 18, String(t), {class: 'dim', 'text-anchor': 'middle'}));
    }
    for (const t of decades(least, most)) {
      svg.append(line(left, y(t), width - 10, y(t), {stroke: 'var(--grid)'}));
      svg.append(text(left - 6, y(t) + 4, String(t), {class: 'dim', 'text-anchor': 'end'}));
    }
    svg.append(text(
        width - 10, bottom + 36, 'operations per byte of its arguments',
        {class: 'dim', 'text-anchor': 'end'}));
    svg.append(text(left + 6, 20, 'GFLOP/s', {class: 'dim'}));
    for (const level of machine.levels) {
      const knee = peak / level.gbps, from = Math.max(lo, least / level.gbps);
      if (from >= knee) continue;
      svg.append(line(
          x(from), y(from * level.gbps), x(knee), y(peak),
          {stroke: 'var(--muted)', 'stroke-width': 1.4}));
      const mark = Math.max(from * 1.25, lo * 1.5),
            angle =
                Math.atan2(y(mark * 2 * level.gbps) - y(mark * level.gbps), x(mark * 2) - x(mark)) *
          180 / Math.PI;
      const tx = x(mark), ty = y(mark * level.gbps) - 5;
      svg.append(text(
          tx, ty, `${level.name} ${figure(level.gbps)} GB/s`,
          {class: 'dim', transform: `rotate(${angle} ${tx} ${ty})`, 'font-size': 11}));
    }
    if (peak) {
      const first = peak / Math.max(...machine.levels.map(l => l.gbps));
      svg.append(line(
          x(Math.max(lo, first)), y(peak), x(hi), y(peak),
          {stroke: 'var(--muted)', 'stroke-width': 1.4}));
      svg.append(text(
          x(hi) - 4, y(peak) - 7, `${figure(peak)} GFLOP/s, one core`,
          {class: 'dim', 'text-anchor': 'end', 'font-size': 11}));
    }
    for (const p of points)
      svg.append(element('circle', {
        cx: x(p.x),
        cy: y(p.y),
        r: phone ? 4 : 5,
        fill: series(suites.indexOf(p.row.suite)),
        opacity: .78,
        stroke: 'var(--card)',
        'stroke-width': 1,
        'data-tip': `${p.row.suite}: ${p.row.item}\n${figure(p.y)} GFLOP/s, ${
            percent(p.row.of_peak)} of peak\n${figure(p.x)} operations a byte, ${p.row.bound}`
      }));
    return height;
  });
}

// --- Tuning curves -----------------------------------------------------------------------------
// Every file of
// trials: best so far against time, relative to where it began.
function curves(tunings) {
  const all = tunings
                  .map((t, i) => {
                    const points = [];
                    let seconds = Infinity;
                    t.trials.forEach((r, k) => {
                      if (r.state && r.state !== 'timed' || !(r.seconds > 0)) return;
                      if (r.seconds < seconds) seconds = r.seconds;
                      points.push({at: finite(r.at) ? r.at : k, seconds});
                    });
                    const bound = t.trials.map(r => r.bound).filter(b => b > 0);
                    return {
                      name: t.name,
                      points,
                      colour: series(i),
                      bound: bound.length ? Math.min(...bound) : NaN,
                      n: t.trials.length
                    };
                  })
                  .filter(c => c.points.length > 1);
  if (!all.length) return null;
  const legend = element(
      'div', {class: 'legend'},
      all.map(
          c => element(
              'span', {}, element('i', {style: `background:${c.colour}`}),
              `${c.name}: ${c.n} trials, ${
                  duration(c.points[c.points.length - 1].seconds * 1e6)}`)));
  return [
    chart(
        'tuning curves',
        (svg, width) => {
          const left = 52, height = width < 560 ? 280 : 340, bottom = height - 40;
          const end = Math.max(...all.map(c => c.points[c.points.length - 1].at));
          const begin = Math.max(1e-3, Math.min(...all.map(c => c.points[0].at)) || 1e-3);
          const x = logarithmic(begin, Math.max(end, begin * 10), left, width - 10);
          const top = Math.max(...all.map(
                          c => c.points[0].seconds / c.points[c.points.length - 1].seconds)) *
              1.1;
          const floor =
              Math.min(
                  0.9,
                  ...all.map(c => c.bound / c.points[c.points.length - 1].seconds).filter(finite)) *
              0.97;
          const y = logarithmic(floor, top, bottom, 12);
          for (const t of decades(begin, end)) {
            svg.append(line(x(t), 12, x(t), bottom, {stroke: 'var(--grid)'}));
            svg.append(text(
                x(t), bottom + 18, duration(t * 1e6), {class: 'dim', 'text-anchor': 'middle'}));
          }
          for (const t of [0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10])
            if (t >= floor && t <= top) {
              svg.append(line(left, y(t), width - 10, y(t), {stroke: 'var(--grid)'}));
              svg.append(text(left - 6, y(t) + 4, t + '×', {class: 'dim', 'text-anchor': 'end'}));
            }
          for (const c of all) {
            const final = c.points[c.points.length - 1].seconds;
            let path = '';
            c.points.forEach((p, i) => {
              path += (i ? `H${x(Math.max(begin, p.at))}V` : `M${x(Math.max(begin, p.at))},`) +
                  y(p.seconds / final);
            });
            svg.append(element('path', {
              d: path + `H${x(end)}`,
              fill: 'none',
              stroke: c.colour,
              'stroke-width': 2,
              'data-tip': c.name
            }));
            if (finite(c.bound))
              svg.append(line(left, y(c.bound / final), width - 10, y(c.bound / final), {
                stroke: c.colour,
                'stroke-dasharray': '2 4',
                opacity: .8,
                'data-tip': `${c.name}: nothing in its space can beat ${duration(c.bound * 1e6)}`
              }));
          }
          return height;
        }),
    legend
  ];
}

// --- The page ----------------------------------------------------------------------------------
function ratioCell(row) {
  const p = best(row), how = verdict(row);
  return p ? element(
                 'span', {class: how, title: `95 %: ${ratioText(p.low)} to ${ratioText(p.high)}`},
                 ratioText(p.ratio)) :
             '–';
}
// Is there something to draw as bars?
const charted = rows => rows.some(r => best(r) || finite(r.of_peak));
function table(rows) {
  const groups = new Set(rows.map(r => r.group)).size;
  const shared = [
    {
      name: rows[0].suite,
      value: r => r.group + ': ' + r.item,
      show: r => element(
          'span', {title: r.sizes || ''}, r.item, ' ',
          groups > 1 ? element('span', {class: 'pill'}, r.group) : null)
    },
    {name: 'unit', value: r => r.unit, left: true},
    {name: 'ours', value: r => r.rate, show: r => r.note || figure(r.rate)}, {
      name: '± %',
      value: r => (r.high_us - r.low_us) / 2 / r.us,
      show: r => percent((r.high_us - r.low_us) / 2 / r.us)
    }
  ];
  const speed = timed(rows[0]) ? [] : [
    {name: 'of peak', value: r => r.of_peak, show: r => percent(r.of_peak)}, {
      name: 'cold',
      value: r => r.rate * r.us / r.cold_us,
      show: r => figure(r.rate * r.us / r.cold_us)
    }
  ];
  const rest = [
    {name: 'compiled in', value: r => r.compile_us, show: r => duration(r.compile_us)}, {
      name: 'to the best peer',
      value: r => {
        const p = best(r);
        return p ? p.ratio : NaN;
      },
      show: ratioCell
    },
    {
      name: 'best peer',
      value: r => {
        const p = best(r);
        return p ? p.name : '';
      },
      left: true
    },
    {name: 'checked against', value: r => r.checked || '', left: true}
  ];
  if (rows.some(r => r.paper))
    rest.push({name: 'the paper says', value: r => r.paper || '', left: true});
  const filled = [...shared, ...speed, ...rest].filter(c => rows.some(r => {
    const v = c.value(r);
    return typeof v === 'number' ? finite(v) : v;
  }));
  return element(
      'details', charted(rows) ? {} : {open: ''},
      element('summary', {}, `All ${rows.length} rows as a table`), sortable(filled, rows));
}

// LoopStack's two tables: how much slower LLVM compiles, and runs, under the same schedule; there
// and here.
function beside(rows) {
  const list = rows.map(r => {
                     const said = /compile ([\d.]+)x, speed ([\d.]+)x/.exec(r.paper || ''),
                           halide = (r.peers || []).find(p => p.name === 'halide');
                     return said && halide ? {
                       r,
                       halide,
                       compile: halide.compile_us / r.compile_us,
                       speed: halide.ratio,
                       paperCompile: Number(said[1]),
                       paperSpeed: Number(said[2])
                     } :
                                             null;
                   })
                   .filter(Boolean);
  if (!list.length) return null;
  const column = (name, get, show) => ({name, value: get, show: x => (show || ratioText)(get(x))});
  return [
    element('h3', {}, 'Halide (LLVM) under the same schedule, and what the paper found'),
    sortable(
        [
          {
            name: 'operator',
            value: x => x.r.group + ': ' + x.r.item,
            show: x =>
                element('span', {}, x.r.item, ' ', element('span', {class: 'pill'}, x.r.group))
          },
          column('ours compiles in', x => x.r.compile_us, duration),
          column('LLVM compiles in', x => x.halide.compile_us, duration),
          column('ratio', x => x.compile), column('paper', x => x.paperCompile),
          column('ours, GFLOP/s', x => x.r.rate, figure),
          column('LLVM, GFLOP/s', x => x.halide.rate, figure), {
            name: 'ratio',
            value: x => x.speed,
            show: x => element(
                'span',
                {class: x.halide.low > 1 ? 'win' :
                     x.halide.high < 1   ? 'lose' :
                                           'even'},
                ratioText(x.speed))
          },
          column('paper', x => x.paperSpeed)
        ],
        list)
  ];
}

function machineOf(run) {
  const m = run && run.machine || {}, isa = m.isa || '', flops = m.gflops || {};
  const peak = flops[isa] && flops[isa].f32 ? flops[isa].f32[0] : NaN, levels = [];
  for (const name of ['L1', 'L2', 'L3', 'memory']) {
    const rate = m.gbps && m.gbps[name];
    if (rate)
      levels.push({name, gbps: Math.max(...['load', 'copy'].map(k => rate[k] ? rate[k][0] : 0))});
  }
  return {
    cpu: m.cpu || 'unknown machine',
    isa,
    cores: m.cores,
    peak,
    levels: levels.filter(l => l.gbps > 0)
  };
}

function facts(rows) {
  const peers = rows.filter(r => !timed(r)).map(best).filter(Boolean),
        how = rows.filter(r => !timed(r)).map(verdict);
  const compile = rows.map(r => r.compile_us).filter(finite).sort((a, b) => a - b);
  const compute = rows.filter(r => r.bound === 'compute' && finite(r.of_peak)).map(r => r.of_peak);
  const n = v => how.filter(h => h === v).length, list = [];
  if (peers.length)
    list.push(fact(
        mean(peers.map(p => p.ratio)).toFixed(2), '×',
        'the speed of the best peer of each row, geometric mean'));
  if (peers.length)
    list.push(fact(
        n('win') + n('even'), `of ${peers.length}`,
        `rows faster or level; ${n('lose')} lost by more than the interval`));
  if (compute.length)
    list.push(fact(
        (100 * mean(compute)).toFixed(0), '%', 'of peak, geometric mean of what operations bound'));
  if (compile.length)
    list.push(fact(
        ...duration(quantile(compile, .5)).split(' '), 'to compile, median over all programs'));
  return element('div', {class: 'facts'}, list);
}

function show(records, tunings, bad, run) {
  $('main').replaceChildren();
  document.querySelectorAll('nav.bar a').forEach(a => a.remove());
  const rows = pick(records, run), runs = records.filter(r => r.kind === 'run');
  const order =
      ['program', 'gemm', 'conv', 'memory', 'tc', 'loopstack', 'teml', 'compile', 'front'];
  rows.sort((a, b) => order.indexOf(a.suite) - order.indexOf(b.suite));
  const suites = [...new Set(rows.map(r => r.suite))];
  const newest = runs.filter(r => !run || r.run === run).pop(), machine = machineOf(newest);
  $('p.lead').textContent = rows.length ?
      `${machine.cpu}, ${machine.isa}, ${machine.cores} core${machine.cores === 1 ? '' : 's'}. ` +
          `${newest ? newest.date + ', Loopwright ' + newest.version : ''}. ${
              rows.length} rows of ${runs.length} run${runs.length === 1 ? '' : 's'}` +
          (bad ? `; ${bad} lines could not be read` : '') :
                 'Nothing was measured yet: `loopwright bench` appends to the history that ' +
                 'this page is made from.';
  const compared = rows.some(best), legend = [['--s1', 'part of peak']];
  if (compared)
    legend.unshift(
        ['--win', 'faster than the best peer'], ['--even', 'level: the interval holds 1'],
        ['--lose', 'slower']);
  if (rows.length)
    $('main').append(
        facts(rows),
        element(
            'div', {class: 'legend'},
            legend.map(
                ([c, what]) =>
                    element('span', {}, element('i', {style: `background:var(${c})`}), what)),
            compared ? element('span', {}, '├─┤ 95 % interval') :
                       element(
                           'span', {},
                           'No other library was there to compare with: `make bench-setup ' +
                               'bench-peers` brings them.')));
  for (const suite of suites) {
    const mine = rows.filter(r => r.suite === suite), peers = mine.map(best).filter(Boolean);
    const said = peers.length ?
        `Geometric mean against the best peer: ${ratioText(mean(peers.map(p => p.ratio)))}.` :
        '';
    const byGroup =
        [...new Set(mine.map(r => r.group))].flatMap(g => mine.filter(r => r.group === g));
    card(
        suite, suite, element('p', {}, said), charted(byGroup) ? bars(byGroup) : null,
        ...(beside(byGroup) || []), table(byGroup));
  }
  const compile = compileTimes(rows);
  if (compile) card('times', 'Time to compile', ...compile);
  const roof = roofline(rows, machine, suites);
  if (roof)
    card(
        'roofline', 'Roofline',
        element(
            'p', {},
            'Every kernel by its operations per byte and the rate it reached; the lines are ' +
            'what this machine was measured at.'),
        roof,
        element(
            'div', {class: 'legend'},
            suites.filter(s => rows.some(r => r.suite === s && r.flops > 0))
                .map(
                    s => element(
                        'span', {},
                        element('i', {style: `background:${series(suites.indexOf(s))}`}), s))));
  const tuned = curves(tunings);
  if (tuned)
    card(
        'tuning', 'Tuning',
        element(
            'p', {},
            'The best so far against time, relative to the last; dotted: the lower bound of ' +
            'its space.'),
        ...tuned);
  $('main').append(element(
      'footer', {},
      'A ratio above 1: Loopwright is faster. Bars end at the median over passes ' +
          'that are spread over the run, whiskers at its 95 % interval; ' +
          'a peer whose result differs does not count. Made by loopwright report; how it is ' +
          'measured: bench/README.md.'));
}

function report() {
  theme();
  const {found, bad} = lines('data'), tunings = [];
  // One curve per function, sizes, strategy and seed of a log.
  let file = '', curve = new Map();
  for (const r of found) {
    if (r.kind === 'file') {
      file = r.name.replace(/\.jsonl$/, '');
      curve = new Map();
      continue;
    }
    if (r.kind === 'run' || r.kind === 'row' || !finite(r.seconds)) continue;
    const sizes = r.sizes ? Object.entries(r.sizes).map(([n, v]) => n + '=' + v).join(',') : '';
    const name =
        r.def ? `${r.def} ${sizes}, ${r.strategy}${r.seed ? ', seed ' + r.seed : ''}` : file;
    if (!curve.has(name)) {
      curve.set(name, {name, trials: []});
      tunings.push(curve.get(name));
    }
    curve.get(name).trials.push(r);
  }
  const runs = found.filter(r => r.kind === 'run');
  const choose = element(
      'select', {'aria-label': 'which run'}, element('option', {value: ''}, 'newest of each row'),
      [...runs].reverse().map(
          r => element('option', {value: r.run}, r.date + (r.quick ? ', quick' : ''))));
  choose.addEventListener('change', () => show(found, tunings, bad, choose.value));
  if (runs.length > 1) $('button.theme').before(choose);
  show(found, tunings, bad, '');
}
report();
