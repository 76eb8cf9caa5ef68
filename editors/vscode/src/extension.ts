// Debugging MLU kernels in VS Code: starts `mlusim dap`, and adds what the protocol has no button for.
import * as fs from "fs";
import * as path from "path";
import * as vscode from "vscode";
import { explorer } from "./explorer";
import { inlineValues } from "./inlineValues";

interface Word {
  prototype: string;
  text: string;
  rules: string[];
}

interface Origin {
  place: string;
  note?: string;
  text?: string;
  cycle?: number;
  launch?: number;
  line?: number;
  source?: { path: string };
  because?: string;
  sources?: Origin[];
}

export function activate(context: vscode.ExtensionContext): void {
  const words = readWords(context.extensionPath);
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("mlusim", { createDebugAdapterDescriptor: adapter }),
    vscode.debug.registerDebugConfigurationProvider("mlusim", { resolveDebugConfiguration: completed }),
    vscode.commands.registerCommand("mlusim.goToCycle", goToCycle),
    vscode.commands.registerCommand("mlusim.whoWrote", (clicked) => ask("mlusim/whoWrote", "Who wrote", clicked)),
    vscode.commands.registerCommand("mlusim.why", (clicked) => ask("mlusim/why", "Why", clicked)),
    vscode.languages.registerHoverProvider(["bangc", "cpp", "python"], {
      provideHover: (document, position) => hover(words, document, position),
    }),
    vscode.languages.registerInlineValuesProvider("bangc", inlineValues),
    explorer(python),
  );
}

/** The server: one that runs already, where the configuration names a port, else one of its own. */
async function adapter(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
  const port: unknown = session.configuration.port;
  if (typeof port === "number") {
    return new vscode.DebugAdapterServer(port, "127.0.0.1");
  }
  return new vscode.DebugAdapterExecutable(await python(session.workspaceFolder), ["-m", "mlusim", "dap"]);
}

async function python(folder: vscode.WorkspaceFolder | undefined): Promise<string> {
  const own = vscode.workspace.getConfiguration("mlusim", folder).get<string>("python");
  if (own) {
    return own;
  }
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (extension) {
    const api = await extension.activate();
    const found = api?.environments?.getActiveEnvironmentPath?.(folder?.uri)?.path;
    if (typeof found === "string" && fs.existsSync(found) && fs.statSync(found).isFile()) {
      return found;
    }
  }
  return "python3";
}

/** F5 without a configuration debugs the file in front. */
function completed(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): vscode.DebugConfiguration | undefined {
  const file = vscode.window.activeTextEditor?.document.fileName;
  if (!configuration.type && !configuration.request && file) {
    configuration = { type: "mlusim", request: "launch", name: "mlusim", program: file, stopOnEntry: true };
  }
  if (!configuration.program) {
    void vscode.window.showErrorMessage("The configuration names no program: a script, a .mlu file, or an operator.");
    return undefined;
  }
  configuration.cwd ??= folder?.uri.fsPath;
  return configuration;
}

async function goToCycle(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  const text = await vscode.window.showInputBox({
    prompt: "A cycle, as every stop shows it, or a predicted time",
    placeHolder: "57 or 12.5us",
    validateInput: (value) => (/^\s*\d+(\.\d+)?\s*(us)?\s*$/.test(value) ? undefined : "a number, or a number and us"),
  });
  if (session && text) {
    const number = parseFloat(text);
    await request(session, "mlusim/goToCycle", text.includes("us") ? { time_us: number } : { cycle: number });
  }
}

/** From the variables view with what was clicked; from the editor with what is selected or under the cursor. */
async function ask(
  question: string,
  title: string,
  clicked?: { variable?: { evaluateName?: string; name: string } },
): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  const expression = clicked?.variable?.evaluateName ?? clicked?.variable?.name ?? underCursor();
  if (!session || !expression) {
    return;
  }
  const item = vscode.debug.activeStackItem;
  const frameId = item instanceof vscode.DebugStackFrame ? item.frameId : undefined;
  const answer = await request(session, question, { expression, frameId });
  if (answer) {
    await pick(session, answer.origin as Origin, title);
  }
}

/** The chain of writes as a list, with the tests that led to them; the one that is chosen is gone to. */
async function pick(session: vscode.DebugSession, origin: Origin, title: string): Promise<void> {
  const rows: (vscode.QuickPickItem & { origin: Origin })[] = [];
  const add = (one: Origin, depth: number): void => {
    const detail = one.because ? "\u2003".repeat(depth) + `because ${one.because}` : undefined;
    rows.push({ label: "\u2003".repeat(depth) + (one.text ?? `${one.place}: ${one.note}`), detail, origin: one });
    one.sources?.forEach((source) => add(source, depth + 1));
  };
  add(origin, 0);
  const chosen = await vscode.window.showQuickPick(rows, { title: `${title} ${origin.place}: go to` });
  if (chosen?.origin.cycle !== undefined) {
    await request(session, "mlusim/goToCycle", { cycle: chosen.origin.cycle, launch: chosen.origin.launch });
  }
}

async function request(session: vscode.DebugSession, name: string, body: object): Promise<any> {
  try {
    return await session.customRequest(name, body);
  } catch (error) {
    void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function underCursor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return undefined;
  }
  if (!editor.selection.isEmpty) {
    return editor.document.getText(editor.selection);
  }
  const range = editor.document.getWordRangeAtPosition(editor.selection.active);
  return range && editor.document.getText(range);
}

function readWords(folder: string): Record<string, Word> {
  const file = path.join(folder, "out", "isa.json");
  return fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, Word>) : {};
}

function hover(
  words: Record<string, Word>,
  document: vscode.TextDocument,
  position: vscode.Position,
): vscode.Hover | undefined {
  const range = document.getWordRangeAtPosition(position, /\w+/);
  const name = range && document.getText(range).replace(/^_+/, "");
  const word = name && Object.prototype.hasOwnProperty.call(words, name) ? words[name] : undefined;
  if (!word) {
    return undefined;
  }
  const text = new vscode.MarkdownString().appendCodeblock(word.prototype, "cpp").appendMarkdown(word.text);
  word.rules.forEach((rule) => text.appendMarkdown(`\n* ${rule}`));
  return new vscode.Hover(text, range);
}
