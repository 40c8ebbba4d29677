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
	"github.com/gokiln/kiln/internal/artifact"
)

// Assembler is a vendor's tool that makes machine code of what the compiler emits.
type Assembler struct {
	format, makes string // of code
	path, version string
	args          func(t target.Target, in, out string) []string
}

// tools has a row for each assembler: the setting that names it, names to look for in PATH, and
// how it is called.
var tools = []struct {
	env, kind, format, makes string
	names                    []string
	args                     func(t target.Target, in, out string) []string
}{
	{
		"KILN_PTXAS", target.PTX, compiler.FormatPTX, "cubin", []string{"ptxas", "/usr/local/cuda/bin/ptxas"},
		func(t target.Target, in, out string) []string {
			return []string{"-arch=" + t.Arch, "-O3", "-o", out, in}
		},
	},
	{
		"KILN_CLANG", target.HIP, compiler.FormatHIP, "hsaco", []string{"/opt/rocm/llvm/bin/clang", "clang-20", "clang-19", "clang"},
		func(t target.Target, in, out string) []string {
			return []string{"-x", "hip", "--offload-arch=" + t.Arch, "--cuda-device-only", "--no-gpu-bundle-output", "-fuse-cuid=none", "-nogpulib", "-nogpuinc", "-O3", "-o", out, in}
		},
	},
}

// Assemblers returns those for some targets that are on this machine, and says for each of the
// rest what was looked for.
func Assemblers(targets []target.Target) (found []*Assembler, absent []error) {
	for _, t := range tools {
		if !slices.ContainsFunc(targets, func(wanted target.Target) bool { return wanted.Kind == t.kind }) {
			continue
		}
		names := t.names
		if name := os.Getenv(t.env); name != "" {
			names = []string{name}
		}
		path := ""
		for _, name := range names {
			if p, err := exec.LookPath(name); err == nil {
				path = p
				break
			}
		}
		if path == "" {
			absent = append(absent, fmt.Errorf("no machine code of %s: no %s found; set %s", t.format, strings.Join(names, ", "), t.env))
			continue
		}
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			absent = append(absent, fmt.Errorf("no machine code of %s: %s --version: %w", t.format, path, err))
			continue
		}
		found = append(found, &Assembler{t.format, t.makes, path, versionOf(string(out)), t.args})
	}
	return found, absent
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
var unknown = []string{"is not defined for option 'gpu-name'", "unsupported HIP gpu architecture", "invalid target ID"}

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
