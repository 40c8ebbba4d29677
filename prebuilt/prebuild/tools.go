package prebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
)

// Assembler is a vendor's tool that makes machine code of what the compiler emits.
type Assembler struct {
	format, makes string // of code
	path, version string
	args          func(t target.Target, in, out string) []string
}

// tool is a row for an assembler: the setting that names it, names to look for in PATH, or a
// command that prints where it is, and how it is called.
type tool struct {
	env, kind, format, makes string
	names, find              []string
	args                     func(t target.Target, in, out string) []string
}

var tools = []tool{
	{
		"KILN_PTXAS", target.PTX, compiler.FormatPTX, "cubin", []string{"ptxas", "/usr/local/cuda/bin/ptxas"}, nil,
		func(t target.Target, in, out string) []string {
			return []string{"-arch=" + t.Arch, "-O3", "-o", out, in}
		},
	},
	{
		"KILN_CLANG", target.HIP, compiler.FormatHIP, "hsaco", []string{"/opt/rocm/llvm/bin/clang", "clang-20", "clang-19", "clang"}, nil,
		func(t target.Target, in, out string) []string {
			return []string{"-x", "hip", "--offload-arch=" + t.Arch, "--cuda-device-only", "--no-gpu-bundle-output", "-fuse-cuid=none", "-nogpulib", "-nogpuinc", "-O3", "-o", out, in}
		},
	},
	{
		"KILN_METAL", target.MSL, compiler.FormatMSL, "metallib", nil, []string{"xcrun", "-sdk", "macosx", "-find", "metal"},
		func(t target.Target, in, out string) []string {
			return []string{"-x", "metal", "-std=" + metalStandard(t), "-mmacosx-version-min=" + metalSystem(t), "-fno-fast-math", "-O2", "-o", out, in}
		},
	},
}

// metalStandard is how the compiler calls a version of the language (Metal Shading Language
// Specification, "Compiler options controlling the language version").
func metalStandard(t target.Target) string {
	if t.Version < 30 {
		return "macos-metal" + t.Arch
	}
	return "metal" + t.Arch
}

// metalSystem is the version of macOS that a version of the language came with: 2.4 with 12, 3.0
// with 13, and so on.
func metalSystem(t target.Target) string {
	if t.Version < 30 {
		return "12.0"
	}
	return fmt.Sprintf("%d.0", 13+t.Version-30)
}

// Assemblers returns those for some targets that are on this machine, and says for each of the
// rest what was looked for.
func Assemblers(targets []target.Target) (found []*Assembler, absent []error) {
	for _, t := range tools {
		if !slices.ContainsFunc(targets, func(wanted target.Target) bool { return wanted.Kind == t.kind }) {
			continue
		}
		path, err := t.path()
		if err != nil {
			absent = append(absent, fmt.Errorf("no machine code of %s: %w; set %s", t.format, err, t.env))
			continue
		}
		out, err := output(path, "--version")
		if err != nil {
			absent = append(absent, fmt.Errorf("no machine code of %s: %w", t.format, err))
			continue
		}
		found = append(found, &Assembler{t.format, t.makes, path, versionOf(out), t.args})
	}
	return found, absent
}

// output is what a command prints; an error has what it complains of.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err == nil {
		return string(out), nil
	}
	err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return "", err
}

// path looks for the tool. It is absolute, because the tool runs in other directories.
func (t *tool) path() (string, error) {
	names := t.names
	if name := os.Getenv(t.env); name != "" {
		names = []string{name}
	} else if len(t.find) > 0 {
		out, err := output(t.find[0], t.find[1:]...)
		if err != nil {
			return "", err
		}
		names = []string{strings.TrimSpace(out)}
	}
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return filepath.Abs(p)
		}
	}
	return "", fmt.Errorf("no %s found", strings.Join(names, ", "))
}

// versionOf is the line of a tool's --version that has a version, without the rest.
func versionOf(out string) string {
	for l := range strings.Lines(out) {
		if l = strings.TrimSpace(l); strings.ContainsAny(l, "0123456789") && strings.Contains(strings.ToLower(l), "version") ||
			strings.HasPrefix(l, "Cuda compilation tools") {
			return l
		}
	}
	return strings.TrimSpace(out)
}

// Makes is the format of the code that the assembler makes, such as "cubin".
func (a *Assembler) Makes() string { return a.makes }

// String is the tool and its version.
func (a *Assembler) String() string { return a.path + ": " + a.version }

// entry is the machine code that the assembler makes of code, as it is kept.
func (a *Assembler) entry(ctx context.Context, art *compiler.Artifact, t target.Target, build compiler.Options) (*cache.Entry, error) {
	machine := *art
	var err error
	if machine.Code, err = a.assemble(ctx, art.Code, t); err != nil {
		return nil, err
	}
	machine.Format = a.makes
	return artifact.Entry(cache.KindMachine, &machine, build, artifact.Tool+", "+a.version)
}

// errUnknown is in the chain of errors about targets that a tool does not know.
var errUnknown = errors.New("unknown to it")

// unknown is how tools say so.
var unknown = []string{"is not defined for option 'gpu-name'", "unsupported HIP gpu architecture", "invalid target ID", "in '-std="}

// assemble makes machine code. Names of files may be in the code, so they are always the
// same: the tool runs in a directory of its own.
func (a *Assembler) assemble(ctx context.Context, code []byte, t target.Target) ([]byte, error) {
	dir, err := os.MkdirTemp("", "kiln-prebuild-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "kernel"), code, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, a.path, a.args(t, "kernel", "code")...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if slices.ContainsFunc(unknown, func(s string) bool { return strings.Contains(out.String(), s) }) {
			return nil, fmt.Errorf("%s: %s is %w", a.version, t.Arch, errUnknown)
		}
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(a.path), err, strings.TrimSpace(out.String()))
	}
	return os.ReadFile(filepath.Join(dir, "code"))
}
