#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the app by AT-SPI alone, as a screen reader does: finds the message box by its name, writes,
sends, hears the reply announced and reads it. Runs on a screen and a session bus of its own.

usage: screen_reader_test.py ANSWERING_APP
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 30
MESSAGE = "Write about a pond – ein Teich, 池."
REPLY = ["The old pond:", "a frog jumps in.", "The sound of water."]


def skip(reason):
    print("hokku-skip: " + reason)
    sys.exit(0)


def enter_private_session():
    """Starts this script anew on a session bus with nothing else on it."""
    for program in ("dbus-run-session", "Xvfb"):
        if shutil.which(program) is None:
            skip(program + " is not installed")
    try:
        import pyatspi  # noqa: F401
    except ImportError:
        skip("python3-pyatspi is not installed")
    with tempfile.TemporaryDirectory(prefix="hokku-screen-reader-") as home:
        environment = dict(os.environ, HOKKU_HOME=home, HOME=home, XDG_RUNTIME_DIR=home,
                           QT_QPA_PLATFORM="xcb", QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1")
        for name in ("DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        command = ["dbus-run-session", "--", sys.executable, __file__, sys.argv[1], "inside"]
        return subprocess.run(command, env=environment, timeout=10 * PATIENCE_S).returncode


def start_screen():
    reading, writing = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"],
        pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    os.environ["DISPLAY"] = ":" + os.read(reading, 16).decode().strip()
    return screen


class Reader:
    """What a screen reader knows of the app."""

    def __init__(self):
        import pyatspi
        from gi.repository import GLib
        self.atspi = pyatspi
        self.context = GLib.MainContext.default()
        self.announced = []
        pyatspi.Registry.registerEventListener(self.hear, "object:state-changed:showing")

    def hear(self, event):
        if event.detail1 and event.source.getRole() == self.atspi.ROLE_NOTIFICATION:
            self.announced.append(event.source.name)

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            while self.context.iteration(False):
                pass
            try:
                result = condition()
            except Exception:  # an object that has just gone
                result = None
            if result:
                return result
            time.sleep(0.05)
        raise AssertionError("not within %d s: %s" % (PATIENCE_S, what))

    def nodes(self, node=None):
        if node is None:
            node = self.atspi.Registry.getDesktop(0)
        yield node
        for index in range(node.childCount):
            child = node.getChildAtIndex(index)
            if child is not None:
                yield from self.nodes(child)

    def has(self, node, state):
        return node.getState().contains(state)

    def find(self, role, name):
        def look():
            for node in self.nodes():
                if node.getRoleName() == role and node.name == name and self.has(
                        node, self.atspi.STATE_SHOWING):
                    return node
            return None
        return self.wait("%s '%s'" % (role, name), look)

    def press(self, name):
        button = self.find("push button", name)
        self.wait("'%s' can be pressed" % name,
                  lambda: self.has(button, self.atspi.STATE_ENABLED))
        action = button.queryAction()
        names = [action.getName(index) for index in range(action.nActions)]
        assert action.doAction(names.index("Press")), "'%s' was not pressed" % name

    def is_named(self, node):
        if node.name:
            return True
        relations = [relation.getRelationType() for relation in node.getRelationSet()]
        return self.atspi.RELATION_LABELLED_BY in relations

    def check_names(self, page):
        """Everything that takes the focus says what it is."""
        nameless = [node.getRoleName() for node in self.nodes()
                    if self.has(node, self.atspi.STATE_FOCUSABLE)
                    and self.has(node, self.atspi.STATE_SHOWING)
                    and node.getRoleName() not in ("frame", "application")
                    and not self.is_named(node)]
        assert not nameless, "without a name on the page %s: %s" % (page, nameless)


def text_of(node):
    return node.queryText().getText(0, -1)


def use_app(reader):
    message = reader.find("text", "Message")
    assert message.queryEditableText().setTextContents(MESSAGE), "nothing can be written"
    assert text_of(message) == MESSAGE, text_of(message)
    reader.check_names("chat")
    reader.press("Send the message")

    conversation = reader.find("label", "Conversation")
    reader.wait("the reply can be read",
                lambda: all(line in text_of(conversation) for line in REPLY))
    text = text_of(conversation)
    assert "You:" in text and MESSAGE in text and "Reply:" in text, text
    assert text.index(MESSAGE) < text.index(REPLY[0]), text
    reader.wait("the reply is announced",
                lambda: all(line in "\n".join(reader.announced) for line in REPLY))
    assert "**" not in "\n".join(reader.announced), reader.announced
    assert text_of(message) == "", "the message box was not cleared"
    reader.check_names("conversation")

    for button, proof in (("Settings", ("spin button", "Temperature")),
                          ("Model: fake", ("push button", "Add a file…"))):
        reader.press(button)
        reader.find(*proof)
        reader.check_names(button)


def main():
    if len(sys.argv) == 2:
        return enter_private_session()
    screen = start_screen()
    app = subprocess.Popen([sys.argv[1]])
    try:
        use_app(Reader())
        assert app.poll() is None, "the app ended with %s" % app.poll()
    finally:
        app.kill()
        app.wait()
        screen.kill()
        screen.wait()
    print("A screen reader can use the app.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
