"""The compose file and the Dockerfile of examples/docker: what they say, and that docker takes them.

What needs docker, its compose plugin or PyYAML is skipped, and says so, where those are not there.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import ROOT, Case, environment

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = ROOT / "examples/docker"
COMPOSE = FOLDER / "compose.yaml"
IMAGE = "example/rocm:7"


def compose_command():
    """How compose is called here, None where it is not."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and not subprocess.run(
                [*command, "version"], capture_output=True, check=False).returncode:
            return command
    return None


def packages_of(words):
    """Packages that ./dev installs for a purpose."""
    line = re.search(rf"^\t{words}\)(.*?);;", (ROOT / "dev").read_text(), re.M | re.S).group(1)
    return {w for w in re.findall(r"[\w.+-]+", line) if w != "echo"}


class TestCompose(Case):
    def check(self, service):
        self.assertEqual({str(d).split(":")[0] if isinstance(d, str) else d["source"]
                          for d in service["devices"]}, {"/dev/kfd", "/dev/dri"})
        self.assertIn("video", service["group_add"])
        self.assertEqual(len(service["group_add"]), 2)
        self.assertEqual(service["ipc"], "host")
        volume = service["volumes"][0]
        # The same path on both sides: those of a sweep are written by both.
        self.assertEqual(volume["source"], volume["target"])
        self.assertEqual(volume["target"], service["working_dir"])

    @unittest.skipIf(yaml is None, "PyYAML is not installed")
    def test_is_yaml(self):
        service = yaml.safe_load(COMPOSE.read_text())["services"]["rocm"]
        self.check(service)
        self.assertRegex(service["image"], r"^\$\{ROCM_IMAGE:-[\w./-]+:[\w.-]+\}$")
        self.assertIn("${RENDER_GID:-render}", service["group_add"])
        self.assertTrue(service["shm_size"])

    def test_docker_takes_it(self):
        command = compose_command()
        if not command:
            self.skipTest("docker has no compose here: 'docker compose config' was not run")
        done = subprocess.run([*command, "-f", COMPOSE, "config", "--format", "json"], check=False,
                              capture_output=True, text=True, cwd=self.tmp,
                              env=environment(ROCM_IMAGE=IMAGE, RENDER_GID="109",
                                              WORKSPACE=self.tmp))
        self.assertEqual(done.returncode, 0, done.stderr)
        service = json.loads(done.stdout)["services"]["rocm"]
        self.check(service)
        self.assertEqual(service["image"], IMAGE)
        self.assertIn("109", service["group_add"])

    def test_example_names_the_container(self):
        text = COMPOSE.read_text()
        name = re.search(r"container_name: \$\{ROCM_CONTAINER:-([\w-]+)\}", text).group(1)
        self.assertIn(f"--container {name} ", text)


class TestDockerfile(Case):
    def setUp(self):
        super().setUp()
        text = (FOLDER / "Dockerfile").read_text()
        self.lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()

    def test_builds_with_what_dev_installs(self):
        stage = " ".join(self.lines).split("FROM ")[1]
        missing = (packages_of("build") | packages_of("package")) - set(stage.split())
        self.assertEqual(missing, set())

    def test_two_stages(self):
        starts = [x for x in self.lines if x.startswith("FROM ")]
        self.assertEqual(starts, ["FROM ${DEBIAN} AS build", "FROM ${DEBIAN}"])
        last = "\n".join(self.lines).split("FROM ")[2]
        self.assertIn("gnuplot-nox", last)
        self.assertNotIn("-dev", last)
        self.assertIn('ENTRYPOINT ["trawl"]', last)

    def test_preset_is_there(self):
        preset = re.search(r"cmake --preset (\w+)", "\n".join(self.lines)).group(1)
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        self.assertIn(preset, [p["name"] for p in presets])

    def test_instructions(self):
        known = {"ARG", "FROM", "RUN", "COPY", "WORKDIR", "ENTRYPOINT", "CMD"}
        self.assertEqual({x.split()[0] for x in self.lines if x.strip()} - known, set())


if __name__ == "__main__":
    unittest.main()
