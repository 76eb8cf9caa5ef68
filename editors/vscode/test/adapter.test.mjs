// The server under the protocol's own test client, as an editor would use it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import test from "node:test";
import support from "@vscode/debugadapter-testsupport";

const PYTHON = process.env.MLUSIM_PYTHON ?? "python3";
const SCRIPT = `import mlusim
from mlusim.bang import float32, kernel

@kernel
def fill(mlu):
    buffer = mlu.nram(float32, 64)
    mlu.bang_write_value(buffer, 64, float32(2.0))
    mlu.bang_add(buffer, buffer, buffer, 64)

mlusim.Device("MLU370-X4").launch(fill)
`;

test("a kernel is stepped forwards and backwards", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mlusim-"));
  const program = path.join(folder, "fill.py");
  fs.writeFileSync(program, SCRIPT);
  const server = spawn(PYTHON, ["-m", "mlusim", "dap", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(readline.createInterface({ input: server.stdout }), "line");
  const client = new support.DebugClient("", "", "mlusim");
  await client.start(Number(line.split(":").pop()));
  try {
    await Promise.all([
      client.configurationSequence(),
      client.launch({ program, stopOnEntry: true }),
      client.assertStoppedLocation("entry", { path: program, line: 6 }),
    ]);
    await client.nextRequest({ threadId: 1 });
    await client.assertStoppedLocation("step", { path: program, line: 7 });
    await client.customRequest("stepBack", { threadId: 1 });
    await client.assertStoppedLocation("step", { path: program, line: 6 });
    await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: "bang_add" }] });
    await Promise.all([
      client.continueRequest({ threadId: 1 }),
      client.assertStoppedLocation("breakpoint", { path: program, line: 8 }),
    ]);
    const answer = await client.customRequest("mlusim/whoWrote", { expression: "buffer[3]" });
    assert.equal(answer.body.origin.instruction, "__bang_write_value");
  } finally {
    await client.disconnectRequest({});
    await once(server, "exit");
    fs.rmSync(folder, { recursive: true });
  }
});
