// The page of `loopwright passes --html`: a slider over the passes, the blocks of the tree after
// each as nested boxes, and what the pass did to which block.
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

    // Lines of the tree, nested by their indentation.
    function boxes(parent, text) {
        const open = [{ depth: -1, box: parent }];
        for (const line of text.split("\n")) {
            if (!line.trim()) continue;
            const depth = line.search(/\S/);
            while (open[open.length - 1].depth >= depth) open.pop();
            const loop = /^\s*(for|if) /.test(line);
            const box = add(open[open.length - 1].box, "div", "", loop ? "passes-block" : "passes-leaf");
            add(box, "code", line.trim());
            open.push({ depth, box });
        }
    }

    const style = add(document.head, "style");
    style.textContent =
        ".passes-block{border:1px solid currentColor;border-radius:6px;padding:4px 8px;margin:4px 0 4px 8px}" +
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
        boxes(tree, s.tree);
    }
    slider.oninput = show;
    slider.value = slider.max;
    show();
})();
