// The page of `loopwright passes --html`: a slider over the passes, the blocks of the tree after
// each as nested boxes with their footprint in each memory unit, and what the pass did to which block.
"use strict";

(function () {
    const steps = JSON.parse(document.getElementById("data").textContent);
    const main = document.querySelector("main");

    function add(parent, tag, text, cls) {
        const e = document.createElement(tag);
        if (text) e.textContent = text;
        if (cls) e.className = cls;
        parent.appendChild(e);
        return e;
    }

    function bytes(n) {
        for (const unit of ["B", "KiB", "MiB", "GiB"]) {
            if (n < 1024 || unit === "GiB") return (n < 10 && n % 1 ? n.toFixed(1) : Math.round(n)) + " " + unit;
            n /= 1024;
        }
    }

    // What a block touches in each unit; a bar where the unit has a size, which is full at 100 %.
    function footprints(box, units, of) {
        const row = add(box, "div", "", "passes-units");
        units.forEach((u, i) => {
            if (!of.bytes[i]) return;
            const share = u.size ? of.bytes[i] / u.size : 0;
            const unit = add(row, "span", u.name + " " + bytes(of.bytes[i]), share > 1 ? "passes-over" : "");
            if (!u.size) return;
            unit.title = Math.round(100 * share) + " % of " + bytes(u.size);
            const bar = add(unit, "span", "", "passes-bar");
            add(bar, "span").style.width = Math.min(100, 100 * share) + "%";
        });
    }

    // Lines of the tree, nested by their indentation.
    function boxes(parent, text, units, blocks) {
        const open = [{ depth: -1, box: parent }], at = {};
        let number = 0;
        for (const b of blocks || []) at[b.line] = b;
        for (const line of text.split("\n")) {
            number++;
            if (!line.trim()) continue;
            const depth = line.search(/\S/);
            while (open[open.length - 1].depth >= depth) open.pop();
            const loop = /^\s*(for|if) /.test(line);
            const box = add(open[open.length - 1].box, "div", "", loop ? "passes-block" : "passes-leaf");
            add(box, "code", line.trim());
            if (at[number]) footprints(box, units, at[number]);
            open.push({ depth, box });
        }
    }

    const style = add(document.head, "style");
    style.textContent =
        ".passes-block{border:1px solid currentColor;border-radius:6px;padding:4px 8px;margin:4px 0 4px 8px}" +
        ".passes-units{display:flex;gap:12px;font-size:smaller;opacity:.85}.passes-over{font-weight:bold;color:#c33}" +
        ".passes-bar{display:inline-block;width:60px;height:.6em;margin-left:4px;border:1px solid currentColor}" +
        ".passes-bar span{display:block;height:100%;background:currentColor;opacity:.6}" +
        ".passes-leaf{margin:2px 8px}.passes-left{opacity:.65}" +
        ".passes-list button{margin:2px}.passes-list button.now{font-weight:bold;text-decoration:underline}";
    const section = add(main, "section");
    const slider = add(section, "input");
    slider.type = "range";
    slider.min = 0;
    slider.max = Math.max(steps.length - 1, 0);
    slider.style.width = "100%";
    slider.setAttribute("aria-label", "pass");
    const list = add(section, "div", "", "passes-list");
    const head = add(section, "h2");
    const summary = add(section, "p");
    const notes = add(section, "ul");
    const tree = add(section, "div");

    steps.forEach((s, i) => {
        const b = add(list, "button", s.label);
        b.type = "button";
        b.onclick = () => { slider.value = i; show(); };
    });

    function show() {
        const i = Number(slider.value), s = steps[i];
        if (!s) return;
        [...list.children].forEach((b, k) => b.classList.toggle("now", k === i));
        head.textContent = s.label;
        summary.textContent = s.summary + (s.changed ? "" : " (nothing changed)");
        notes.textContent = "";
        for (const n of s.notes)
            add(notes, "li", (n.block ? n.block + ": " : "") + (n.refused ? "left alone: " : "") + n.text,
                n.refused ? "passes-left" : "");
        tree.textContent = "";
        boxes(tree, s.tree, s.units, s.blocks);
    }
    slider.oninput = show;
    slider.value = slider.max;
    show();
})();
