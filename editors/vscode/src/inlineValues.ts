// Values beside the lines of a kernel of BANG C: which names the lines up to the stop hold.
import * as vscode from "vscode";

const WORDS = new Set(
  (
    "auto bool break case char const constexpr continue default do double else enum extern false float for half if inline int " +
    "int8_t int16_t int32_t int64_t long namespace return short signed sizeof static struct switch template true typedef typename " +
    "uint8_t uint16_t uint32_t uint64_t union unsigned using void volatile while"
  ).split(" "),
);

/** Names that variables may have, with the line and column of each: no keywords, calls, members, or what is in comments and strings. */
export function names(lines: readonly string[], first: number, stop: number): { name: string; line: number; column: number }[] {
  const found: { name: string; line: number; column: number }[] = [];
  const blank = (text: string): string => text.replace(/[^\n]/g, " ");
  const text = lines
    .slice(first, stop + 1)
    .join("\n")
    .replace(/\/\*[\s\S]*?(?:\*\/|(?![\s\S]))|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*#[^\n]*/gm, blank);
  text.split("\n").forEach((line, at) => {
    const here = new Set<string>();
    for (const match of line.matchAll(/(?<![\w.]|->|::)[A-Za-z_]\w*(?!\w|\s*\(|\s*::)/g)) {
      const name = match[0];
      if (!name.startsWith("__") && !WORDS.has(name) && !here.has(name)) {
        here.add(name);
        found.push({ name, line: first + at, column: match.index });
      }
    }
  });
  return found;
}

/** The line where the function that holds *stop* begins: the last in front of it that starts at the margin and opens a list. */
export function beginning(lines: readonly string[], stop: number): number {
  for (let line = stop; line >= 0; line--) {
    if (/^[A-Za-z_].*\(/.test(lines[line] ?? "")) {
      return line;
    }
  }
  return 0;
}

/** Values of the variables in the function, up to the line where the kernel stands; the editor looks each up by its name. */
export const inlineValues: vscode.InlineValuesProvider = {
  provideInlineValues(document, _view, context) {
    const lines = document.getText().split(/\r?\n/);
    const stop = context.stoppedLocation.end.line;
    return names(lines, beginning(lines, stop), stop).map(({ name, line, column }) => {
      const range = new vscode.Range(line, column, line, column + name.length);
      return new vscode.InlineValueVariableLookup(range, name, true);
    });
  },
};
