"""Random functions of C++, and batches of them with calls.

`Batch.for_device` makes a batch a kernel that stores the result of each call, `Batch.for_host` a program that prints
them, for a C++ compiler and, with another head, for the front end.
"""

import random

from random_expressions import LIMITS, PRELUDE, REAL, WHOLE, WIDE, Expressions

SMALL = ("int", "short", "unsigned char", "long", "unsigned int", "signed char", "unsigned short")


class Writer(Expressions):
    """Writes one function."""

    def __init__(self, rng, name, earlier, *, everything=True):
        super().__init__(rng, earlier, everything=everything)
        self.name = name
        self.count = 0
        self.fixed = set()  # counters, which nothing but their loop may change
        self.labels = 0

    def fresh(self, prefix):
        """A name that nothing has."""
        self.count += 1
        return f"{prefix}{self.count}"

    def block(self, count, indent):
        """Statements in braces."""
        saved = [dict(s) if isinstance(s, dict) else list(s) for s in self._scope()]
        self.depth += 1
        lines = [line for _ in range(count) for line in self.statement(indent)]
        self.depth -= 1
        (
            self.names,
            self.arrays,
            self.pairs,
            self.deeps,
            self.points,
            self.pointers,
            self.steps,
            self.texts,
            self.shapes,
        ) = saved
        return lines

    def _scope(self):
        return (
            self.names,
            self.arrays,
            self.pairs,
            self.deeps,
            self.points,
            self.pointers,
            self.steps,
            self.texts,
            self.shapes,
        )

    def statement(self, indent):
        """One statement, as lines."""
        pad = "  " * indent
        choices = [
            self.declare,
            self.assign,
            self.assign,
            self.compound,
            self.step,
            self.structured,
            self.leave,
        ]
        if self.depth < 3:
            choices += [self.branch, self.loop, self.switch, self.walk]
        return [pad + line for line in self.rng.choice(choices)()]

    def changeable(self, kinds):
        """Return the variables of some types that may be written."""
        return [n for n, k in self.names.items() if k in kinds and n not in self.fixed]

    # -- declarations --------------------------------------------------------------------------

    def declare(self):
        """A declaration."""
        pick = self.rng.random()
        for limit, maker in (
            (0.11, self._array), (0.19, self._pair), (0.24, self._deep), (0.29, self._point), (0.39, self._pointer),
            (0.47, self._reference), (0.51, self._lambda), (0.55, self._pun), (0.59, self._step), (0.62, self._text),
            (0.66, self._shape),
        ):  # fmt: skip
            if pick < limit:
                return maker() or self._plain()
        return self._plain()

    def _plain(self):
        kind, name = self.rng.choice((*WHOLE, *REAL, "bool")), self.fresh("v")
        word = self.rng.choice((kind, kind, kind, f"const {kind}", "auto"))
        value = self.expression(kind, 3)
        text = f"{word} {name} = {f'({kind})({value})' if word == 'auto' else value};"
        self.names[name] = kind
        if word.startswith("const"):
            self.fixed.add(name)
        return [text]

    def _array(self):
        name, kind = self.fresh("t"), self.rng.choice(SMALL)
        values = ", ".join(self.literal(kind) for _ in range(self.rng.randrange(1, 5)))
        self.arrays[name] = kind
        return [f"{kind} {name}[4] = {{{values}}};"]

    def _pair(self):
        name = self.fresh("p")
        text = f"Pair {name} = made(({self.expression('int', 1)}), {self.expression('float', 1)});"
        self.pairs.append(name)
        return [text]

    def _deep(self):
        name = self.fresh("d")
        pair = f"{self.rng.choice(self.pairs) if self.pairs else 'made(5, 0.5f)'}"
        text = f"Deep {name} = {{{pair}, {{{{1, 2.5f, 3}}, made({self.expression('int', 1)}, 1.0f)}}, {self.literal('long')}}};"
        self.deeps.append(name)
        return [text]

    def _point(self):
        if not self.everything:
            return None
        name = self.fresh("o")
        given = [self.expression("int", 1) for _ in range(self.rng.randrange(3))]
        text = f"Point {name}({', '.join(given)});" if given else f"Point {name};"
        self.points.append(name)
        return [text]

    def _pointer(self):
        rng = self.rng
        name = self.fresh("q")
        if self.arrays and rng.random() < 0.4:
            array = rng.choice(list(self.arrays))
            start = rng.choice((f"{array} + 2", f"&{array}[{self.leaf('int')} & 3]"))
            text = f"{self.arrays[array]} *{name} = {start};"
            self.pointers[name] = self.arrays[array]
            return [text]
        if self.deeps and rng.random() < 0.3:
            text = f"unsigned short *{name} = &{rng.choice(self.deeps)}.u;"
            self.pointers[name] = "unsigned short"
            return [text]
        targets = self.changeable(WHOLE)
        if not targets:
            return None
        target = rng.choice(targets)
        self.pointers[name] = self.names[target]
        return [f"{self.names[target]} *{name} = &{target};"]

    def _reference(self):
        rng = self.rng
        name = self.fresh("r")
        pick = rng.random()
        if self.arrays and pick < 0.3:
            array = rng.choice(list(self.arrays))
            text = f"{self.arrays[array]} &{name} = {array}[{self.leaf('int')} & 3];"
            self.names[name] = self.arrays[array]
            return [text]
        if self.pairs and pick < 0.5:
            text = f"Pair &{name} = {rng.choice(self.pairs)};"
            self.pairs.append(name)
            return [text]
        if self.pairs and pick < 0.6:
            text = f"auto &{name} = {rng.choice(self.pairs)}.d[{rng.randrange(3)}];"
            self.names[name] = "short"
            return [text]
        reals = REAL if self.everything else ("float", "half")
        targets = self.changeable((*WHOLE, *reals, "bool"))
        if not targets:
            return None
        target = rng.choice(targets)
        kind = self.names[target]
        word = rng.choice((f"{kind} &", f"const {kind} &", "auto &"))
        self.names[name] = kind
        if word.startswith("const"):
            self.fixed.add(name)
        return [f"{word}{name} = {target};"]

    def _lambda(self):
        name, value = self.fresh("l"), self.fresh("v")
        targets = self.changeable(("int",))
        kind = self.rng.choice(SMALL)
        body = f"return ({kind})(x * 3 + {self.leaf('int')});"
        if targets:
            body = f"{self.rng.choice(targets)} += x; {body}"
        text = [f"auto {name} = [&]({kind} x) {{ {body} }};", f"{kind} {value} = {name}({self.whole(1)});"]
        self.names[value] = kind
        return text

    def _pun(self):
        rng, name = self.rng, self.fresh("v")
        floats = self.changeable(("float",))
        if floats and rng.random() < 0.4:
            text = f"unsigned int {name} = *(unsigned int *)&{rng.choice(floats)} >> 5;"
            kind = "unsigned int"
        elif self.arrays and rng.random() < 0.5:
            text = f"unsigned char {name} = ((unsigned char *){rng.choice(list(self.arrays))})[{rng.randrange(4)}];"
            kind = "unsigned char"
        else:
            union = self.fresh("u")
            text = f"Both {union}; {union}.i = {self.whole(1)}; {union}.c[2] ^= 9; int {name} = {union}.i + {union}.c[0];"
            kind = "int"
        self.names[name] = kind
        return [text]

    def _step(self):
        name = self.fresh("g")
        given = self.rng.choice(
            (self.step_value(), f"{self.test(1)} ? {self.step_value()} : {self.step_value()}")
        )
        self.steps.append(name)
        return [f"Step {name} = {given};"]

    def step_value(self):
        """A pointer to a function."""
        plain = ("more", "&flipped", "tripled", f"STEPS[({self.leaf('int')} & 255) % 3]", "(Step) nullptr")
        return self.rng.choice((*plain, *self.steps))

    def _text(self):
        name = self.fresh("s")
        given = f"{self.test(1)} ? {self.text_value()} : {self.text_value()}"
        self.texts.append(name)
        return [f"const char *{name} = {given};"]

    def text_value(self):
        """A string."""
        plain = ('"abc"', '"a longer\\t one"', '""', f"NAMES[{self.leaf('int')} & 3]")
        return self.rng.choice((*plain, *self.texts))

    def _shape(self):
        name, kind = self.fresh("o"), self.rng.choice(("Shape", "Square", "Cube"))
        same = [n for n, k in self.shapes.items() if k == kind or (k != "Shape" and kind == "Shape")]
        given = (
            f" = {self.rng.choice(same)}"
            if same and self.rng.random() < 0.3
            else f"({self.expression('int', 1)})"
        )
        text = f"{kind} {name}{given};"
        if self.labels:  # no goto leaves what has a destructor
            return None
        self.shapes[name] = kind
        return [text]

    # -- statements without others in them -----------------------------------------------------

    def assign(self):
        """An assignment."""
        rng = self.rng
        targets = self.changeable((*WHOLE, *REAL, "bool"))
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        kind = self.names[name]
        if self.arrays and rng.random() < 0.2:
            return [f"{self.element()} = {self.whole(3)};"]
        if kind in WHOLE and rng.random() < 0.12:
            other = rng.choice(self.changeable(WHOLE))
            return [f"{name} = {other} = {self.whole(2)};"]
        same = [n for n in targets if self.names[n] == kind and n != name]
        if same and rng.random() < 0.15 and (self.everything or kind != "double"):
            other = rng.choice(same)
            return [
                rng.choice(
                    (
                        f"swapped({name}, {other});",
                        f"({self.test(2)} ? {name} : {other}) = {self.expression(kind, 2)};",
                    )
                )
            ]
        if kind in WHOLE and rng.random() < 0.1:
            return [f"{name} = {self.rounded(kind, rng.choice(REAL), 2)};"]
        return [f"{name} = {self.expression(kind, 3)};"]

    def compound(self):
        """A compound assignment."""
        rng = self.rng
        targets = self.changeable((*WHOLE, *REAL))
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        kind = self.names[name]
        if kind in REAL:
            other = kind if rng.random() < 0.6 else rng.choice((*REAL, *WHOLE))
            return [f"{name} {rng.choice('+-*/' if other in REAL else '+-*')}= {self.expression(other, 2)};"]
        pick = rng.random()
        if pick < 0.2:
            return [f"{name} {rng.choice(('<<', '>>'))}= ({self.whole(1)} & {63 if kind in WIDE else 31});"]
        if pick < 0.35:
            return [f"{name} {rng.choice('/%')}= (({self.whole(1)} & 15) + 1);"]
        if pick < 0.5 and self.arrays:
            return [f"{self.element()} {rng.choice('+-*&|^')}= {self.whole(2)};"]
        if pick < 0.55:
            other = rng.choice(self.changeable(WHOLE))
            return [f"{name} {rng.choice('+-^')}= {other} {rng.choice('*|')}= {self.whole(1)};"]
        if pick < 0.6 and LIMITS[kind][1] < 2**31:
            return [
                f"{name} &= 63; {name} {rng.choice('+*')}= {rng.choice(('1.5f', '0.25', '(half)1.75f'))};"
            ]
        return [f"{name} {rng.choice('+-*&|^')}= {self.whole(2)};"]

    def step(self):
        """An increment or a decrement."""
        rng = self.rng
        targets = self.changeable(WHOLE)
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        others = [n for n in targets if n != name and "r" not in (n[0], name[0])]
        mark = rng.choice(("++", "--"))
        if others and rng.random() < 0.5:
            text = f"{name}{mark}" if rng.random() < 0.5 else f"{mark}{name}"
            return [f"{rng.choice(others)} = {text};"]
        if self.arrays and name[0] != "r" and rng.random() < 0.4:
            return [f"{rng.choice(list(self.arrays))}[{name}{mark} & 3] = {self.literal('int')};"]
        reals = self.changeable(("float", "half"))
        if reals and rng.random() < 0.2:
            return [f"{mark}{rng.choice(reals)};"]
        return [f"{name}{mark};"]

    def structured(self):
        """A statement about a record, a pointer or a reference."""
        rng = self.rng
        makers = [self._plain_calls, self._indirect, self._ending]
        if self.shapes:
            makers.append(self._objects)
        if self.pairs:
            makers += [self._pairs, self._pairs]
        if self.deeps:
            makers.append(self._deeps)
        if self.points:
            makers.append(self._points)
        if self.pointers:
            makers += [self._pointed, self._pointed]
        if self.arrays:
            makers.append(self._arrays)
        return [rng.choice(makers)()]

    def _pairs(self):
        rng = self.rng
        name, other = rng.choice(self.pairs), rng.choice(self.pairs)
        return rng.choice(
            (
                f"change({name}, {self.expression('int', 1)});",
                f"{name}.a += {self.whole(2)};",
                f"{name}.d[{rng.randrange(3)}] = {self.whole(2)};",
                f"{name} = {other};",
                f"{name}.b = {self.expression('float', 2)};",
                f"{{ Pair *s = &{name}; s->d[{self.leaf('int')} & 1] -= {self.whole(1)}; (*s).c++; }}",
                f"swapped({name}, {other});",
            )
        )

    def _deeps(self):
        rng = self.rng
        name, other = rng.choice(self.deeps), rng.choice(self.deeps)
        pair = rng.choice(self.pairs) if self.pairs else f"{other}.p"
        return rng.choice(
            (
                f"{name}.grow({self.whole(1)});",
                f"{name}.q[{self.leaf('int')} & 1] = {pair};",
                f"{name}.h += {self.expression('half', 1)};",
                f"{{ Deep *s = &{name}; Pair &p = s->q[1]; p.a ^= {self.whole(1)}; s->p = p; s->q[0].d[2]--; }}",
                f"{name}.u {rng.choice('+*^')}= {self.whole(1)};",
                f"{name} = {other};",
            )
        )

    def _points(self):
        name, other = self.rng.choice(self.points), self.rng.choice(self.points)
        return self.rng.choice(
            (
                f"{name} += {self.whole(1)};",
                f"{name} = {other} + Point({self.leaf('int')});",
                f"{name}.y = {self.whole(2)};",
            )
        )

    def _pointed(self):
        name = self.rng.choice(list(self.pointers))
        kind = self.pointers[name]
        return self.rng.choice(
            (
                f"*{name} = {self.whole(2)};",
                f"*{name} += {self.whole(1)};",
                f"(*{name})++;",
                f"{{ {kind} **w = &{name}; **w ^= {self.whole(1)}; }}",
            )
        )

    def _arrays(self):
        name = self.rng.choice(list(self.arrays))
        kind = self.arrays[name]
        return self.rng.choice(
            (
                f"mix({name}, ({kind}){self.whole(1)});",
                f"for (auto &e : {name}) e {self.rng.choice('+-^')}= {self.whole(1)};",
                f"{{ {kind} *w = {name}; *w++ = {self.whole(1)}; *++w -= 2; w[-1] = (int)(w - {name}); }}",
            )
        )

    def _indirect(self):
        rng = self.rng
        targets = self.changeable(("int",))
        if not targets:
            return self._plain()[0]
        name, x = rng.choice(targets), f"(int){self.leaf('int')}"
        choices = [
            f"{name} = through({self.step_value()}, {x});",
            f"{name} ^= STEPS[({x} & 255) % 3]({x});",
            f"{name} = fixed<{rng.choice(('more', 'flipped'))}>({x}) + any({rng.choice(('tripled', '[](int x) { return x - 2; }'))}, {x});",
            f"{{ Step w[2] = {{{self.step_value()}, flipped}}; if (w[{x} & 1] != nullptr) {name} = w[{x} & 1]({x}); }}",
            f"{name} += ({self.step_value()}) == ({self.step_value()});",
            f"{name} ^= letter({self.text_value()}, {x});",
            f"{{ const char *w = {self.text_value()}; while (*w) {name} ^= *w++ << 3; }}",
            f'{{ char w[8] = "xy"; w[{x} & 3] ^= {x}; {name} ^= letter(w, 2) + w[1]; }}',
        ]
        if self.steps:
            step = rng.choice(self.steps)
            choices.append(f"if ({step}) {name} = (*{step})({x}); else {step} = {self.step_value()};")
        return rng.choice(choices)

    def _ending(self):
        rng = self.rng
        targets = self.changeable(("int",))
        if not targets:
            return self._plain()[0]
        name = rng.choice(targets)
        leave = rng.choice(
            (
                "",
                f"if ({self.test(1)}) return {name};",
                f"if ({self.test(1)}) {{ Ends f(&{name}, 9); return {self.whole(1)}; }}",
            )
        )
        if self.loops and rng.random() < 0.5:
            leave = f"if ({self.test(1)}) {rng.choice(('break', 'continue'))};"
        return f"{{ Ends e(&{name}, {self.expression('int', 1)}); {name} = {self.expression('int', 1)}; {leave} {name} ^= 5; }}"

    def _objects(self):
        rng = self.rng
        targets = self.changeable(("int",))
        name, other = rng.choice([*self.shapes]), rng.choice([*self.shapes])
        if not targets:
            return f"{name}.a ^= 3;"
        to, x = rng.choice(targets), f"(int){self.leaf('int')}"
        kind = rng.choice(("Square", "Cube"))
        return rng.choice(
            (
                f"{to} = area(&{name}, {x});",
                f"{to} = sliced({name}, {x}) ^ {other}.both();",
                f"{{ Shape &w = {name}; w = {other}; {to} = w.area({x}) ^ area(&{name}, 1); }}",
                f"{{ {kind} *w = dynamic_cast<{kind} *>((Shape *)&{name}); {to} = w ? w->b : area(&{other}, {x}); }}",
                f"{{ Shape *w[2] = {{&{name}, &{other}}}; w[0]->a ^= {x}; {to} = w[{x} & 1]->both(); }}",
                f"{{ Shape w[2] = {{Shape({x}), {name}}}; w[0] = w[1]; {to} = area(w, {x}) ^ w[1].a; }}",
            )
        )

    def _plain_calls(self):
        rng = self.rng
        targets = self.changeable(("int",))
        if not targets:
            return self._plain()[0]
        name = rng.choice(targets)
        return rng.choice(
            (
                f"bump({name}, {self.expression('int', 1)});",
                f"{name} = twice(&{name}) ^ 5;",
                f"{{ int w[2] = {{(int){self.leaf('int')}, 4}}; pick(w, {self.leaf('int')}) += {self.literal('int')}; {name} = w[0] - w[1]; }}",
            )
        )

    def leave(self):
        """A return in the middle, under a condition that seldom holds."""
        if self.rng.random() < 0.5:
            return self.assign()
        return [f"if (({self.whole(2)} & 31) == {self.rng.randrange(32)}) return {self.whole(2)};"]

    # -- statements with others in them --------------------------------------------------------

    def branch(self):
        """An if, sometimes with a variable of its own or a condition that changes variables."""
        rng = self.rng
        targets = [n for n in self.changeable(WHOLE) if n[0] != "r"]
        head = self.expression("bool", 3)
        pick = rng.random()
        if targets and pick < 0.2:
            name = rng.choice(targets)
            head = f"{rng.choice((name + '++', '--' + name))} {rng.choice('<>')} {self.literal('int')} {rng.choice(('&&', '||'))} {head}"
        elif pick < 0.3:
            name, kind = self.fresh("v"), rng.choice(("int", "unsigned char", "long"))
            head = rng.choice(
                (
                    f"{kind} {name} = {self.whole(2)}",
                    f"{kind} {name} = {self.whole(2)}; {name} > {self.literal('int')}",
                )
            )
        lines = [f"if ({head}) {{", *self.block(rng.randrange(1, 4), 1)]
        if rng.random() < 0.2:
            lines += [f"}} else if ({self.expression('bool', 2)}) {{", *self.block(1, 1)]
        if rng.random() < 0.5:
            lines += ["} else {", *self.block(rng.randrange(1, 3), 1)]
        return [*lines, "}"]

    def loop(self):
        """A loop that ends, sometimes with a break or a continue."""
        rng = self.rng
        name = self.fresh("i")
        kind = rng.choice(("int", "unsigned int", "short", "long", "unsigned char"))
        self.names[name] = kind
        self.fixed.add(name)
        self.loops += 1
        inner = self.block(rng.randrange(1, 4), 1)
        leave = self.expression("bool", 2)
        if rng.random() < 0.5:
            at = rng.randrange(len(inner) + 1)
            if at == len(inner) or (inner[at].startswith("  ") and not inner[at].startswith(("   ", "  }"))):
                inner.insert(at, f"  if ({leave}) {rng.choice(('break', 'continue'))};")
        self.loops -= 1
        pick, count = rng.random(), rng.randrange(1, 6)
        del self.names[name]
        if pick < 0.45:
            return [f"for ({kind} {name} = 0; {name} < {count}; ++{name}) {{", *inner, "}"]
        if pick < 0.55:
            other = self.fresh("i")
            return [
                f"for ({kind} {name} = 0, {other} = {count + 3}; {name} < {other}; {name}++, {other}--) {{",
                *inner,
                "}",
            ]
        if pick < 0.65:
            head = rng.choice((f"if ({name}++ >= {count}) break;", f"if (++{name} > {count}) {{ break; }}"))
            return [f"{kind} {name} = 0;", "for (;;) {", f"  {head}", *inner, "}"]
        if pick < 0.8:
            return [f"{kind} {name} = {count};", f"while ({name}-- > 0) {{", *inner, "}"]
        return [f"{kind} {name} = 0;", "do {", *inner, f"}} while (++{name} < {count});"]

    def walk(self):
        """A goto out of a nested loop or back, or a loop over an array."""
        rng = self.rng
        if self.arrays and rng.random() < 0.5:
            name, array = self.fresh("e"), rng.choice(list(self.arrays))
            self.names[name] = self.arrays[array]
            self.fixed.add(name)
            self.loops += 1
            inner = self.block(rng.randrange(1, 3), 1)
            self.loops -= 1
            del self.names[name]
            return [f"for ({self.arrays[array]} {name} : {array}) {{", *inner, "}"]
        outer, inner = self.fresh("i"), self.fresh("i")
        self.loops += 1
        self.labels += 1
        before, after = self.block(1, 2), self.block(1, 1)
        self.labels -= 1
        leave = self.expression("bool", 2)
        self.loops -= 1
        if rng.random() < 0.5:
            tries, again, out = self.fresh("n"), self.fresh("again"), self.fresh("out")
            return [
                "{", f"  int {tries} = 0;", f"{again}:", f"  ++{tries};",
                f"  for (int {outer} = 0; {outer} < 2; ++{outer}) {{", f"    for (int {inner} = 0; {inner} < 3; {inner}++) {{",
                *before, f"      if ({leave}) goto {out};", f"      if ({tries} < 3 && {outer} == 1) goto {again};",
                "    }", *after, "  }", f"{out}:", f"  {tries} = 0;", "}",
            ]  # fmt: skip
        label = f"if ({leave}) {{ {inner} = 9; break; }}"
        return [
            f"for (int {outer} = 0; {outer} < 3; ++{outer}) {{", f"  int {inner} = 0;",
            f"  for (; {inner} < 3; {inner}++) {{", *before, f"    {label}", "  }",
            f"  if ({inner} == 9) {rng.choice(('break', 'continue'))};", *after, "}",
        ]  # fmt: skip

    def switch(self):
        """A switch, sometimes with fallthrough, a continue of the loop around it, or an unmasked value."""
        rng = self.rng
        value, labels = f"({self.whole(2)}) & 3", range(4)
        if rng.random() < 0.3:
            kind = rng.choice(("signed char", "unsigned char", "int", "long"))
            value, labels = f"({kind})({self.whole(2)})", (0, 1, 7, 31, -1, 100)
            labels = [n for n in labels if n >= LIMITS[kind][0]]
        lines = [f"switch ({value}) {{"]
        labels = rng.sample(labels, rng.randrange(1, 5))
        default = rng.randrange(len(labels) + 1) if rng.random() < 0.7 else -1
        for n, label in enumerate(labels):
            if n == default:
                lines.append("  default:")
            lines += [f"  case {label}: {{", *self.block(rng.randrange(1, 3), 2), "  }"]
            if rng.random() < 0.6:
                lines.append("  break;")
            elif rng.random() < 0.3:
                word = "continue" if self.loops and rng.random() < 0.4 else "break"
                lines.append(f"  if ({self.expression('bool', 2)}) {word};")
        if default == len(labels):
            lines += ["  default: {", *self.block(1, 2), "  }"]
        return [*lines, "}"]

    def function(self):
        """The function's text and the types of its parameters."""
        rng = self.rng
        kinds = [rng.choice((*WHOLE, *REAL, "bool")) for _ in range(rng.randrange(1, 4))]
        parameters = [f"a{n}" for n in range(len(kinds))]
        self.names.update(zip(parameters, kinds, strict=True))
        head = ", ".join(f"{k} {n}" for k, n in zip(kinds, parameters, strict=True))
        lines = [line for _ in range(rng.randrange(2, 6)) for line in self.statement(1)]
        parts = []
        for name, kind in list(self.names.items()):
            parts.append(f"bits((float){name})" if kind in REAL else f"(long){name}")
        parts += [f"(long){n}[{i}]" for n in self.arrays for i in range(4)]
        parts += [f"(long)total({n}) + bits({n}.b)" for n in self.pairs]
        parts += [f"{n}.sum() + bits((float){n}.h)" for n in self.deeps]
        parts += [f"(long){n}.x - {n}.y" for n in self.points]
        body = [f"  long result = {rng.randrange(100)};"]
        body += [f"  result = result * 31 + ({part});" for part in parts]
        text = [f"FN long {self.name}({head}) {{", *lines, *body, "  return result;", "}"]
        return "\n".join(text), kinds


class Batch:
    """*count* functions with calls of each; without *everything* such as the native engine runs."""

    def __init__(self, seed, count, calls=3, *, everything=True):
        rng = random.Random(seed)
        self.functions = []
        self.calls = []
        earlier = []
        for n in range(count):
            text, kinds = Writer(rng, f"f{n}", earlier, everything=everything).function()
            self.functions.append(text)
            earlier = [*earlier[-3:], (f"f{n}", kinds)]
            for _ in range(calls):
                plain = Writer(rng, "", ())
                self.calls.append(f"f{n}({', '.join(plain.literal(k) for k in kinds)})")

    def for_device(self):
        """A source with a kernel that stores the result of each call."""
        stores = "\n".join(f"  out[{n}] = {call};" for n, call in enumerate(self.calls))
        head = "#define FN __mlu_func__\n#define METHOD __mlu_func__\n"
        return f"{head}{PRELUDE}\n{chr(10).join(self.functions)}\n__mlu_global__ void Run(long *out) {{\n{stores}\n}}\n"

    def for_host(self, half="typedef _Float16 half;\n"):
        """A program that prints the result of each call."""
        stores = "\n".join(f'  printf("%ld\\n", {call});' for call in self.calls)
        head = "#include <math.h>\n#include <stdio.h>\n" + half + "#define FN static\n#define METHOD\n"
        return f"{head}{PRELUDE}\n{chr(10).join(self.functions)}\nint main() {{\n{stores}\n}}\n"
