package llvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/target"
)

// Tools are the programs of a stock LLVM that make machine code of its IR.
type Tools struct {
	Opt string // the optimiser, of which one pass is run: "" leaves that out
	LLC string // the code generator
	LLD string // the linker for ELF; not needed for NVIDIA
}

// oldest is the first version of LLVM whose AMD code generator rounds square
// roots correctly, and newest the last that this package looks for by name.
const (
	oldest = 18
	newest = 22
)

// FindTools looks for the programs that [Tools.Build] needs for t: those that
// KILN_LLC and KILN_LLD name, else llc and ld.lld on the PATH, with the version in
// the name or without, from LLVM 18 on.
func FindTools(t target.Target) (Tools, error) {
	d := dialectOf(t)
	if d == nil {
		return Tools{}, fmt.Errorf("llvm: target %s is not reached through LLVM; use one of llvm:<arch>", t)
	}
	var tools Tools
	var err, linkErr error
	tools.LLC, err = find("llc", "KILN_LLC")
	tools.Opt = beside(tools.LLC)
	if d.isa&amdgcn != 0 {
		tools.LLD, linkErr = find("ld.lld", "KILN_LLD")
	}
	return tools, errors.Join(err, linkErr)
}

// beside returns the optimiser that was installed with a code generator, "" if there is none.
func beside(llc string) string {
	dir, name := filepath.Split(llc)
	path := dir + strings.Replace(name, "llc", "opt", 1)
	if _, err := exec.LookPath(path); err != nil || path == llc {
		return ""
	}
	return path
}

// find looks for a program.
func find(name, env string) (string, error) {
	if path := os.Getenv(env); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("llvm: %s=%s: %w", env, path, err)
		}
		return path, nil
	}
	for v := newest; v >= oldest; v-- {
		if path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, v)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		if v := version(path); v >= oldest {
			return path, nil
		} else if v > 0 {
			return "", fmt.Errorf("llvm: %s is of LLVM %d, version %d or later is needed: install it (Debian: llvm-19, lld-19) or name it by %s", path, v, oldest, env)
		}
	}
	return "", fmt.Errorf("llvm: %s-%d … %s-%d and %s are not on the PATH: install LLVM (Debian: llvm-19, lld-19) or name the program by %s", name, newest, name, oldest, name, env)
}

var versionText = regexp.MustCompile(`(?:LLVM version|LLD) (\d+)`)

// version asks a program for its version, 0 if it does not say.
func version(path string) int {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return 0
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return 0
	}
	v, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0
	}
	return v
}

// float8 is what products of 8-bit floats begin with, which are part of PTX 8.4, and LLVM chooses an
// earlier version for devices that have them.
const float8 = "mma.sync.aligned.m16n8k32.row.col.f32.e"

// Build makes of the text of [Emit] what a driver loads: for AMD a code object
// (.hsaco), for NVIDIA PTX.
func (tools Tools) Build(ctx context.Context, text string, t target.Target) ([]byte, error) {
	d := dialectOf(t)
	if d == nil {
		return nil, fmt.Errorf("llvm: target %s is not reached through LLVM; use one of llvm:<arch>", t)
	}
	dir, err := os.MkdirTemp("", "kiln-llvm")
	if err != nil {
		return nil, fmt.Errorf("llvm: a directory for intermediate files: %w", err)
	}
	defer os.RemoveAll(dir)
	in, object, out := filepath.Join(dir, "k.ll"), filepath.Join(dir, "k.o"), filepath.Join(dir, "k.hsaco")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("llvm: intermediate file: %w", err)
	}
	if tools.Opt != "" { // private arrays become registers, which llc makes of some
		if err := run(ctx, tools.Opt, "-passes=sroa", in, "-o", in); err != nil {
			return nil, err
		}
	}
	args := []string{"-mtriple=" + d.triple, "-mcpu=" + t.Arch, "-O3", "--fp-contract=off"}
	if d.isa == nvptx {
		if strings.Contains(text, float8) {
			args = append(args, "-mattr=+ptx84")
		}
		if err := run(ctx, tools.LLC, append(args, "-filetype=asm", in, "-o", out)...); err != nil {
			return nil, err
		}
		return os.ReadFile(out)
	}
	if err := run(ctx, tools.LLC, append(args, "-filetype=obj", in, "-o", object)...); err != nil {
		return nil, err
	}
	if err := run(ctx, tools.LLD, "-shared", "--no-undefined", object, "-o", out); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// maxMessage bounds how much of a program's complaint goes into an error.
const maxMessage = 2000

func run(ctx context.Context, path string, args ...string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		msg := strings.TrimSpace(stderr.String())
		return fmt.Errorf("llvm: %s: %w: %s", filepath.Base(path), err, msg[:min(len(msg), maxMessage)])
	}
	return nil
}
