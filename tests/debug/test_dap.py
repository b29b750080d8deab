"""``visakit dap`` as an editor uses it: the test's client validates every message by the published schema."""

from __future__ import annotations

import base64
import json
import os
import runpy
import threading

import jsonschema
import numpy as np
import pytest
from support.programs import ROOT, kernel_head

import vasm
import vlink
from vsim.command.dap import open_session
from vsim.debug.dap.server import Server

SCHEMA = json.loads((ROOT / "tests" / "data" / "dap" / "protocol.json").read_text())


def check(message):
    """Hold a message against the schema; requests that are wrong on purpose are not for this."""
    kind = message["type"]
    name = message["event" if kind == "event" else "command"]
    definition = f"{name[0].upper()}{name[1:]}{kind.capitalize()}"
    if kind == "response" and not message["success"]:
        definition = "ErrorResponse"
    jsonschema.Draft4Validator(SCHEMA | {"$ref": f"#/definitions/{definition}"}).validate(message)


TEXT = (
    kernel_head("Y=uq@qword N=d*8 P=P*8", "Y", name="steps", SimdSize=8, SLMSize=1)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
cmp.lt (M1, 8) P N(0,0)<1;1,0> 4:d
(P) add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 100:d
call (M1, 8) twice
svm_block_st (2) Y(0,0)<0;1,0> N.0
ret (M1, 1)
twice:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> N(0,0)<1;1,0>
ret (M1, 8)
"""
)


class Client:
    """Speaks the protocol with a server that runs in a thread."""

    def __init__(self):
        (source, to_server), (from_server, sink) = os.pipe(), os.pipe()
        self.writer, self.reader = os.fdopen(to_server, "wb"), os.fdopen(from_server, "rb")
        self.streams = os.fdopen(source, "rb"), os.fdopen(sink, "wb")
        self.server = server = Server(*self.streams, open_session)
        self.code = []
        self.thread = threading.Thread(target=lambda: self.code.append(server.run()))
        self.thread.start()
        self.sequence, self.events, self.last = 0, [], 0

    def send(self, command, checks=True, **arguments):
        self.sequence += 1
        message = {"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}
        if checks:
            check(message)
        body = json.dumps(message).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.writer.flush()
        return self.sequence

    def message(self):
        line = self.reader.readline()
        assert line.startswith(b"Content-Length: "), line
        assert self.reader.readline() == b"\r\n"
        found = json.loads(self.reader.read(int(line.split()[1])))
        check(found)
        assert found["seq"] == self.last + 1
        self.last = found["seq"]
        return found

    def ask(self, command, fails=False, **arguments):
        number = self.send(command, not fails, **arguments)
        while (found := self.message())["type"] == "event":
            self.events.append(found)
        assert found["request_seq"] == number and found["command"] == command
        assert found["success"] is not fails, found
        return found["message"] if fails else found.get("body")

    def wait(self, name):
        while True:
            found = self.events.pop(0) if self.events else self.message()
            if found.get("event") == name:
                return found["body"]

    def leave(self):
        self.ask("disconnect")
        self.close()
        assert self.code == [0]

    def close(self):
        self.thread.join()
        self.writer.close()
        self.server.reader.join()
        for stream in (self.reader, *self.streams):
            stream.close()


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.visaasm").write_text(TEXT)
    assembled = vasm.assemble_text(TEXT, "steps.visaasm", "tgllp").object_bytes(debug=True)
    (tmp_path / "steps.bin").write_bytes(vlink.link([assembled]).to_bytes())
    found = Client()
    yield found
    found.leave()


def launch(client, **more):
    assert client.ask("initialize", adapterID="visakit")["supportsStepBack"]
    client.ask("launch", program="steps.bin", globalSize="16", localSize="16", args=["Y=zeros:16:i4"], **more)
    client.wait("initialized")


def begin(client, **more):
    launch(client, **more)
    client.ask("configurationDone")


def top(client, thread):
    return client.ask("stackTrace", threadId=thread)["stackFrames"][0]


def test_breakpoints_and_steps_both_ways(client):
    launch(client)
    source = {"path": "/elsewhere/steps.visaasm"}
    found = client.ask("setBreakpoints", source=source, breakpoints=[{"line": 11, "condition": "N[2] == 2"}])
    assert found["breakpoints"][0] | {"instructionReference": ""} == {
        "id": 1, "verified": True, "line": 11, "instructionReference": "",
    }  # fmt: skip
    client.ask("configurationDone")
    stop = client.wait("stopped")
    assert stop["reason"] == "breakpoint" and stop["hitBreakpointIds"] == [1]
    thread = stop["threadId"]
    assert [t["name"] for t in client.ask("threads")["threads"]] == ["thread 0.0", "thread 0.1"]
    assert top(client, thread)["line"] == 11
    lines = []
    for command in ("next", "next", "stepBack", "stepIn", "stepIn", "stepOut", "stepBack", "reverseContinue"):
        client.ask(command, threadId=thread)
        client.wait("stopped")
        lines.append(top(client, thread)["line"])
    assert lines == [12, 13, 12, 16, 17, 13, 12, 11]


def test_values_by_lane(client):
    begin(client, stopOnEntry=True)
    thread = client.wait("stopped")["threadId"]
    for _ in range(2):
        client.ask("next", threadId=thread, granularity="instruction")
        client.wait("stopped")
    frame = top(client, thread)["id"]
    scopes = {s["name"]: s["variablesReference"] for s in client.ask("scopes", frameId=frame)["scopes"]}
    assert {"Arguments", "Variables", "Predicates", "Registers", "Local memory"} == set(scopes)
    (found,) = client.ask("variables", variablesReference=scopes["Variables"])["variables"]
    assert (found["name"], found["value"], found["indexedVariables"]) == ("N", "{0..7}", 8)
    page = client.ask("variables", variablesReference=found["variablesReference"], start=2, count=3)["variables"]
    assert [(v["name"], v["value"]) for v in page] == [("[2]", "2"), ("[3]", "3"), ("[4]", "4")]
    changed = client.ask("setVariable", variablesReference=found["variablesReference"], name="[3]", value="33")
    assert changed["value"] == "33"
    assert client.ask("evaluate", expression="N[3] + 1", frameId=frame, context="hover")["result"] == "34"
    assert "lane" in client.ask("evaluate", expression="print N", frameId=frame, context="repl")["result"]
    assert {"label": "print"} in client.ask("completions", text="pri", column=4)["targets"]
    assert "nothing is called 'M'" in client.ask("evaluate", fails=True, expression="M")


def test_data_functions_instructions_and_the_end(client):
    begin(client, stopOnEntry=True)
    thread = client.wait("stopped")["threadId"]
    info = client.ask("dataBreakpointInfo", name="Y[2]")
    assert info["dataId"] == "Y[2]"
    client.ask("setDataBreakpoints", breakpoints=[{"dataId": "Y[2]", "accessType": "write"}])
    client.ask("setFunctionBreakpoints", breakpoints=[{"name": "twice"}, {"name": "nothing"}])
    client.ask("continue", threadId=thread)
    assert client.wait("stopped")["reason"] == "breakpoint"
    client.ask("continue", threadId=thread)
    stop = client.wait("stopped")
    assert stop["reason"] == "data breakpoint" and "0 -> 204" in stop["text"]
    data = base64.b64decode(client.ask("readMemory", memoryReference="Y[0]", count=16)["data"])
    assert np.frombuffer(data, "i4").tolist() == [200, 202, 204, 206]
    new = base64.b64encode(np.array([7], "i4").tobytes()).decode()
    assert client.ask("writeMemory", memoryReference="Y[0]", data=new)["bytesWritten"] == 4
    assert client.ask("evaluate", expression="Y[0]")["result"] == "7"
    at = top(client, thread)["instructionPointerReference"]
    found = client.ask("disassemble", memoryReference=at, instructionOffset=-1, instructionCount=2)["instructions"]
    assert [i["instruction"].split()[0] for i in found] == ["svm_block_st", "ret"]
    client.ask("setInstructionBreakpoints", breakpoints=[{"instructionReference": at, "offset": -1}])
    client.ask("reverseContinue", threadId=thread)
    assert client.wait("stopped")["reason"] in ("breakpoint", "data breakpoint")
    client.ask("setInstructionBreakpoints", breakpoints=[])
    client.ask("setDataBreakpoints", breakpoints=[])
    client.ask("continue", threadId=thread)
    client.wait("exited")
    client.wait("terminated")


def test_log_points_sources_and_restart(client):
    launch(client)
    points = [{"line": 13, "logMessage": "N is {N[1]}"}]
    client.ask("setBreakpoints", source={"name": "steps.visaasm"}, breakpoints=points)
    client.ask("setExceptionBreakpoints", filters=["fault", "call"])
    client.ask("configurationDone")
    assert client.wait("stopped")["reason"] == "exception"
    (source,) = client.ask("loadedSources")["sources"]
    assert os.path.basename(source["path"]) == "steps.visaasm"
    target = client.ask("gotoTargets", source=source, line=13)["targets"][0]
    client.ask("goto", threadId=1, targetId=target["id"])
    client.wait("output")
    client.wait("stopped")
    client.ask("setExceptionBreakpoints", filters=[])
    client.ask("restart")
    assert client.wait("output")["output"] == "N is 202\n"
    client.wait("terminated")


ENDLESS = TEXT.replace("call (M1, 8) twice\n", "again:\njmp (M1, 1) again\n")


def test_a_pause_is_answered_before_the_launch_has_stopped(client, tmp_path):
    assembled = vasm.assemble_text(ENDLESS, "steps.visaasm", "tgllp").object_bytes(debug=True)
    (tmp_path / "steps.bin").write_bytes(vlink.link([assembled]).to_bytes())
    launch(client)
    never = {"name": "*3", "condition": "N == -1"}  # Else the fast engine runs, which a signal halts.
    assert client.ask("setFunctionBreakpoints", breakpoints=[never])["breakpoints"][0]["verified"]
    client.ask("configurationDone")
    for _ in range(2):
        client.ask("pause", threadId=1)
        assert not client.events and client.wait("stopped")["reason"] == "pause"
        client.ask("continue", threadId=1)
    client.ask("pause", threadId=1)
    client.wait("stopped")


def test_requests_that_cannot_be_done(client):
    assert client.ask("launch", fails=True, program="nowhere.bin").startswith("nowhere.bin: error: No such file")
    assert client.ask("stackTrace", fails=True, threadId=1) == "nothing was launched"
    assert "'launch'" in client.ask("attach", fails=True)
    assert "IMAGE is missing" in client.ask("launch", fails=True)
    assert "'args' is a list" in client.ask("launch", fails=True, program="steps.bin", args="Y=1")
    for words in ("\0", "\ud800", "/nowhere/at/all"):
        assert "'cwd'" in client.ask("launch", fails=True, program="steps.bin", cwd=words)
    launch(client)
    assert "debugged already" in client.ask("launch", fails=True, program="steps.bin")
    assert client.ask("dance", fails=True) == "the request 'dance' is not known"
    points = client.ask("setBreakpoints", source={"name": "steps.visaasm"}, breakpoints=[{"line": 99}])["breakpoints"]
    assert not points[0]["verified"] and "line 99" in points[0]["message"]
    assert "no variables 5" in client.ask("variables", fails=True, variablesReference=5)


@pytest.mark.parametrize(
    "body",
    [b"{", b"[" * 100_000, b"5", b'{"type": "response"}', b'{"command": "threads"}',
     b'{"command": "threads", "seq": 1, "arguments": 5}'],
)  # fmt: skip
def test_messages_that_are_no_requests_end_the_server(body):
    client = Client()
    client.writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    client.writer.flush()
    client.close()
    assert client.code == [1] and client.server.problem


@pytest.mark.parametrize("command", ["restart", "goto", "setVariable", "disassemble", "readMemory", "writeMemory"])
def test_requests_too_early_and_without_arguments_fail(command):
    client = Client()
    assert client.ask(command, fails=True)
    client.leave()


def test_types_of_messages_are_those_of_the_schema():
    generator = runpy.run_path(str(ROOT / "docs" / "generate_dap_messages.py"))
    assert generator["OUTPUT"].read_text() == generator["classes"](SCHEMA)
