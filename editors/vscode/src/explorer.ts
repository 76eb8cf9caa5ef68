// The test explorer: the cases of `cases.toml` files, and the tests of pytest in files that name mlusim.
import { spawn } from "child_process";
import * as fs from "fs";
import * as path from "path";
import * as vscode from "vscode";

type Python = (folder: vscode.WorkspaceFolder | undefined) => Promise<string>;

/** What an item runs: the program and case of a launch, the words behind `python`, and the folder to run in. */
interface Test {
  program: string;
  case?: string;
  words: string[];
  folder: vscode.WorkspaceFolder;
}

interface Ended {
  code: number | null;
  output: string;
}

const CASES = "**/{cases,*_cases,*-cases}.toml";
const AWAY = "**/{node_modules,.venv,venv,.git}/**";
const BRIEF = "--verbosity=-1"; // as -q, whatever the project's configuration adds
const NO_TESTS = 5; // the exit code of pytest where it collects nothing

/** Names and lines of the `[case.NAME]` tables of a file of cases; tables inside of one belong to it. */
export function casesIn(text: string): { name: string; line: number }[] {
  const found = new Map<string, number>();
  text.split(/\r?\n/).forEach((line, at) => {
    const match = /^\s*\[\s*case\s*\.\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*(?:\.[^\]]*)?\]/.exec(line);
    const name = match && (match[1] ?? match[2] ?? match[3]);
    if (name && !found.has(name)) {
      found.set(name, at);
    }
  });
  return [...found].map(([name, line]) => ({ name, line }));
}

/** The nodes that `pytest --collect-only --verbosity=-1` prints, by their files; cases have items of their own. */
export function nodesIn(output: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of output.split(/\r?\n/)) {
    const file = /^(\S.*?\.py)::/.exec(line)?.[1];
    if (file) {
      found.set(file, [...(found.get(file) ?? []), line]);
    }
  }
  return found;
}

/** Whether a run passed: by its exit code; what pytest has only skipped is skipped. */
export function verdict(words: readonly string[], ended: Ended): "passed" | "skipped" | "failed" {
  if (ended.code !== 0) {
    return "failed";
  }
  const skipped = words.includes("pytest") && /^\d+ skipped\b/m.test(ended.output) && !/\d+ passed\b/.test(ended.output);
  return skipped ? "skipped" : "passed";
}

/** The explorer's root: finds tests when it is opened and when it is refreshed, runs them, and debugs them. */
export function explorer(python: Python): vscode.Disposable {
  const controller = vscode.tests.createTestController("mlusim", "mlusim");
  const tests = new WeakMap<vscode.TestItem, Test>();
  const find = async (): Promise<void> => {
    const items: vscode.TestItem[] = [];
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      items.push(...(await caseItems(controller, tests, folder)));
      items.push(...(await pytestItems(controller, tests, folder, await python(folder))));
    }
    controller.items.replace(items);
  };
  controller.resolveHandler = async (item) => (item ? undefined : find());
  controller.refreshHandler = find;
  controller.createRunProfile(
    "Run",
    vscode.TestRunProfileKind.Run,
    async (request, token) => {
      const run = controller.createTestRun(request);
      try {
        for (const item of chosen(controller, tests, request)) {
          if (token.isCancellationRequested) {
            break;
          }
          await runOne(run, item, tests.get(item)!, python, token);
        }
      } finally {
        run.end();
      }
    },
    true,
  );
  controller.createRunProfile("Debug", vscode.TestRunProfileKind.Debug, async (request, token) => {
    const [item] = chosen(controller, tests, request);
    const test = item && tests.get(item);
    if (test) {
      const run = controller.createTestRun(request);
      try {
        await debugOne(run, item, test, token);
      } finally {
        run.end();
      }
    }
  });
  return controller;
}

/** How the program of a session has ended, as the debugger says in `mlusim/outcome`; the last that it says counts. */
interface Outcome {
  passed: boolean;
  edited: boolean;
  text: string;
}

/** Debug a test; its verdict is that of the debugged run. */
async function debugOne(
  run: vscode.TestRun,
  item: vscode.TestItem,
  test: Test,
  token: vscode.CancellationToken,
): Promise<void> {
  run.started(item);
  const begun = Date.now();
  const testRun = `${item.id} ${begun}`; // tells this session from every other
  const watching: vscode.Disposable[] = [];
  const said: string[] = [];
  let outcome: Outcome | undefined;
  const hear = (message: { type?: string; event?: string; body?: unknown }): void => {
    if (message.type === "event" && message.event === "mlusim/outcome") {
      outcome = message.body as Outcome;
    } else if (message.type === "event" && message.event === "output") {
      said.push((message.body as { output: string }).output);
    }
  };
  const tracker = vscode.debug.registerDebugAdapterTrackerFactory("mlusim", {
    createDebugAdapterTracker: (one) => (one.configuration.testRun === testRun ? { onDidSendMessage: hear } : undefined),
  });
  const ended = new Promise<void>((resolve) => {
    const end = vscode.debug.onDidTerminateDebugSession((one) => {
      if (one.configuration.testRun === testRun) {
        resolve();
      }
    });
    watching.push(tracker, end, token.onCancellationRequested(() => resolve()));
  });
  try {
    const started = await vscode.debug.startDebugging(test.folder, {
      type: "mlusim",
      request: "launch",
      name: item.label,
      program: test.program,
      case: test.case,
      cwd: test.folder.uri.fsPath,
      stopOnEntry: true,
      testRun,
    });
    if (started) {
      await ended;
    }
  } finally {
    watching.forEach((one) => one.dispose());
  }
  run.appendOutput(said.join("").replace(/\r?\n/g, "\r\n"), undefined, item);
  if (!outcome) {
    run.appendOutput("The session has ended before the test, which so has no verdict.\r\n", undefined, item);
    run.skipped(item);
    return;
  }
  if (outcome.edited) {
    run.appendOutput("Values were changed by hand in this run.\r\n", undefined, item);
  }
  if (outcome.passed) {
    run.passed(item, Date.now() - begun);
  } else {
    const words = [outcome.text, ...said].filter((text) => text.trim()).join("\n");
    run.failed(item, new vscode.TestMessage(words || "the debugged run has failed"), Date.now() - begun);
  }
}

async function caseItems(
  controller: vscode.TestController,
  tests: WeakMap<vscode.TestItem, Test>,
  folder: vscode.WorkspaceFolder,
): Promise<vscode.TestItem[]> {
  const files = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, CASES), AWAY);
  const items: vscode.TestItem[] = [];
  for (const uri of files) {
    const program = uri.fsPath;
    const parent = fileItem(controller, folder, program);
    for (const { name, line } of casesIn(fs.readFileSync(program, "utf8"))) {
      const item = controller.createTestItem(`${program}::${name}`, name, uri);
      item.range = new vscode.Range(line, 0, line, 0);
      tests.set(item, { program, case: name, words: ["-m", "mlusim", "run", program, "--case", name], folder });
      parent.children.add(item);
    }
    if (parent.children.size) {
      items.push(parent);
    }
  }
  return items;
}

async function pytestItems(
  controller: vscode.TestController,
  tests: WeakMap<vscode.TestItem, Test>,
  folder: vscode.WorkspaceFolder,
  command: string,
): Promise<vscode.TestItem[]> {
  const root = folder.uri.fsPath;
  const python = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, "**/{test_*,*_test}.py"), AWAY);
  const files = python.map((uri) => uri.fsPath).filter((file) => /\bmlusim\b/.test(fs.readFileSync(file, "utf8")));
  if (!files.length) {
    return [];
  }
  // Paths of nodes are relative to the root of pytest, which the option makes this folder.
  const ended = await ran(command, ["-m", "pytest", "--collect-only", BRIEF, `--rootdir=${root}`, ...files], root);
  const items: vscode.TestItem[] = [];
  for (const [name, nodes] of nodesIn(ended.output)) {
    const file = path.resolve(root, name);
    const parent = fileItem(controller, folder, file);
    for (const node of nodes) {
      const program = file + node.slice(name.length);
      const item = controller.createTestItem(program, node.slice(name.length + 2), vscode.Uri.file(file));
      tests.set(item, { program, words: ["-m", "pytest", BRIEF, program], folder });
      parent.children.add(item);
    }
    items.push(parent);
  }
  if (ended.code !== 0 && ended.code !== NO_TESTS) {
    const failed = controller.createTestItem(`${root}::pytest`, "pytest cannot collect every test");
    failed.error = ended.output;
    items.push(failed);
  }
  return items;
}

function fileItem(controller: vscode.TestController, folder: vscode.WorkspaceFolder, file: string): vscode.TestItem {
  return controller.createTestItem(file, path.relative(folder.uri.fsPath, file), vscode.Uri.file(file));
}

/** The tests that a request means, without those that it leaves out; every one where it names none. */
function chosen(
  controller: vscode.TestController,
  tests: WeakMap<vscode.TestItem, Test>,
  request: vscode.TestRunRequest,
): vscode.TestItem[] {
  const found: vscode.TestItem[] = [];
  const add = (item: vscode.TestItem): void => {
    if (request.exclude?.includes(item)) {
      return;
    }
    if (tests.has(item)) {
      found.push(item);
    }
    item.children.forEach(add);
  };
  if (request.include) {
    request.include.forEach(add);
  } else {
    controller.items.forEach(add);
  }
  return found;
}

async function runOne(
  run: vscode.TestRun,
  item: vscode.TestItem,
  test: Test,
  python: Python,
  token: vscode.CancellationToken,
): Promise<void> {
  run.started(item);
  const begun = Date.now();
  const ended = await ran(await python(test.folder), test.words, test.folder.uri.fsPath, token);
  run.appendOutput(ended.output.replace(/\r?\n/g, "\r\n"), undefined, item);
  if (token.isCancellationRequested) {
    run.skipped(item);
    return;
  }
  const found = verdict(test.words, ended);
  if (found === "skipped") {
    run.skipped(item);
  } else if (found === "passed") {
    run.passed(item, Date.now() - begun);
  } else {
    run.failed(item, new vscode.TestMessage(ended.output || `exit code ${ended.code}`), Date.now() - begun);
  }
}

/** Run a command to its end, or until it is cancelled; its output is both streams, in the order in which they came. */
function ran(command: string, words: string[], cwd: string, token?: vscode.CancellationToken): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(command, words, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const cancelling = token?.onCancellationRequested(() => child.kill());
    const end = (code: number | null): void => {
      cancelling?.dispose();
      resolve({ code, output });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", (error) => {
      output += error.message;
      end(null);
    });
    child.on("close", end);
  });
}
