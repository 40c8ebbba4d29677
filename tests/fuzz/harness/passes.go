package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	goruntime "runtime"
	"slices"
	"unsafe"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/hostargs"
)

// optional are the passes that can be turned off.
var optional = func() []string {
	var list []string
	for _, p := range pass.Passes {
		if !p.Required && !slices.Contains(list, p.Name) {
			list = append(list, p.Name)
		}
	}
	return list
}()

// program is a kernel after the front end.
type program struct{ *compiler.Program }

func translate(k Kernel) (program, error) {
	fn := reflect.TypeOf(k.Func)
	pkg := goruntime.FuncForPC(reflect.ValueOf(k.Func).Pointer()).Name()
	pkg = pkg[:len(pkg)-len("."+k.Name)]
	p, err := compiler.Front(front.Request{Pkg: pkg, Func: k.Name}, compiler.Registered)
	if err != nil {
		return program{}, fmt.Errorf("translating %s of type %s: %w", k.Name, fn, err)
	}
	return program{p}, nil
}

// emit makes the code of a GPU. Nothing runs it here, but ptxas assembles it if
// KILN_PTXAS says where that is.
func (p program) emit(t target.Target) error {
	art, err := p.Emit(t, compiler.Options{})
	if err != nil {
		return fmt.Errorf("emitting PTX: %w", err)
	}
	tool := os.Getenv("KILN_PTXAS")
	if tool == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "kilnfuzz")
	if err != nil {
		return fmt.Errorf("directory for PTX: %w", err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "kernel.ptx")
	if err := os.WriteFile(file, art.Code, 0o600); err != nil {
		return fmt.Errorf("writing PTX: %w", err)
	}
	if out, err := exec.Command(tool, "-arch="+t.Arch, "-o", filepath.Join(dir, "kernel.cubin"), file).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", tool, err, out)
	}
	return nil
}

// outcome is what is in the slices of a launch afterwards.
type outcome []any

// compare reports the first slice that differs.
func (want outcome) compare(got outcome) error {
	for i := range want {
		if err := conformance.Compare(want[i], got[i]); err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
	}
	return nil
}

// run interprets the program, optimised for t as opt says, on copies of the
// arguments.
func (p program) run(t target.Target, opt compiler.Options, c conformance.Case) (outcome, error) {
	m, err := p.Optimize(t, opt)
	if err != nil {
		return nil, err
	}
	prog, err := interp.New(m, interp.Warp(min(t.WarpSize, interp.WarpSize)))
	if err != nil {
		return nil, err
	}
	a := hostargs.Copy(c.Args...)
	defer a.Close()
	block := a.Block()
	// The interpreter reads words of the block: start it at a multiple of eight.
	words := make([]uint64, len(block)/8+1)
	args := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:len(block)]
	copy(args, block)
	err = prog.Run(interp.Launch{Grid: axes(c.Grid), Block: axes(c.Threads), Args: args})
	return a.Values, err
}

func axes(d dsl.Dim3) [3]int { return [3]int{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }
