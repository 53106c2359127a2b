"""A git server of the bench's own."""
import os
import socket
import subprocess


class Repository:
    """A repository that git's daemon serves on loopback, and a clone to push from."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "repositories")
        self.bare, self.clone = (os.path.join(self.folder, name) for name in ("served.git", "clone"))
        os.makedirs(self.folder)
        self.git("init", "-q", "--bare", "-b", "main", self.bare, cwd=folder)
        self.git("clone", "-q", self.bare, self.clone, cwd=folder)
        self.git("checkout", "-q", "-b", "main")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # Its own limit on connections would be in the numbers.
        self.daemon = subprocess.Popen(
            ["git", "daemon", "--export-all", "--listen=127.0.0.1", f"--port={self.port}", "--max-connections=0",
             f"--base-path={self.folder}", self.folder],
            stdin=subprocess.DEVNULL)

    def git(self, *arguments, cwd=None):
        subprocess.run(["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", *arguments], check=True,
                       cwd=cwd or self.clone, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def commit(self, text):
        self.git("commit", "-q", "--allow-empty", "-m", text)

    def push(self):
        self.git("push", "-q", "origin", "main")

    def uri(self, name="served"):
        return f"git://127.0.0.1:{self.port}/{name}.git"

    def name_also(self, name):
        """Serves it under another name, too: as another repository, for all that clients know."""
        os.symlink(self.bare, os.path.join(self.folder, f"{name}.git"))

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait()
