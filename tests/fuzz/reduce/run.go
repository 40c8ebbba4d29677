package reduce

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/fuzz/gen"
)

// pair is machine code and the interpreter with the same warps.
type pair struct {
	kernel gen.Kernel
	target target.Target
	native *runtime.Device
	interp *runtime.Device
}

func open(k gen.Kernel, engine string) (*pair, error) {
	p := &pair{kernel: k}
	var err error
	if p.target, err = target.Parse("amd64:" + engine); err != nil {
		return nil, err
	}
	if p.native, err = runtime.Open("cpu:" + engine); err != nil {
		return nil, err
	}
	p.interp, err = runtime.Open(fmt.Sprintf("cpu:interp%d", p.target.WarpSize))
	return p, err
}

func (p *pair) close() {
	p.native.Close()
	p.interp.Close()
}

// differs reports whether the engines disagree on source, which is that of the kernel
// and what it calls; an error says that one of them cannot run it. Faults of the
// compiler count as disagreement.
func (p *pair) differs(source string) (bool, error) {
	load := func(path string) (*front.Package, error) {
		if path != pkg {
			return nil, fmt.Errorf("no package %s", path)
		}
		return &front.Package{Path: path, Files: []front.File{{Name: "k.go", Text: []byte(head + source + gen.Support())}}}, nil
	}
	prog, err := compiler.Front(front.Request{Pkg: pkg, Func: p.kernel.Name}, load)
	if err != nil {
		return false, err
	}
	interp := target.Interpreter(p.target.WarpSize)
	checked, err := prog.Emit(interp, compiler.Options{Checked: true})
	if err != nil {
		return false, err
	}
	if _, err := p.run(p.interp, checked); err != nil { // a race, too: smaller kernels easily have one
		return false, err
	}
	ir, err := prog.Emit(interp, compiler.Options{})
	if err != nil {
		return false, err
	}
	want, err := p.run(p.interp, ir)
	if err != nil {
		return false, err
	}
	code, err := prog.Emit(p.target, compiler.Options{Strict: true})
	if err != nil {
		return true, nil
	}
	got, err := p.run(p.native, code)
	if err != nil {
		return true, nil
	}
	return !bytes.Equal(want, got), nil
}

const pkg = "k"

var head = "package " + pkg + "\n" + gen.Imports

// run returns the contents of all slices after a launch.
func (p *pair) run(dev *runtime.Device, art *compiler.Artifact) ([]byte, error) {
	if len(art.Args) != len(p.kernel.Lens) {
		return nil, fmt.Errorf("%d parameters, the kernel had %d", len(art.Args), len(p.kernel.Lens))
	}
	mod, err := dev.Load(runtime.Image{Format: art.Format, Name: art.Entry, Code: art.Code})
	if err != nil {
		return nil, err
	}
	fn, err := mod.Function(art.Entry)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(p.kernel.Seed, 0x64617461))
	block := make([]byte, art.ArgBytes())
	var slices []runtime.Slice[byte]
	for i, a := range art.Args {
		n := max(p.kernel.Lens[i], 1)
		data := make([]byte, 0, n*a.Size)
		for range n {
			data = append(data, draw(r, strings.TrimPrefix(a.Go, "[]"), a.Size)...)
		}
		if !a.Slice {
			copy(block[a.Offset:], data)
			continue
		}
		s, err := runtime.From(dev, data)
		if err != nil {
			return nil, err
		}
		defer s.Free()
		slices = append(slices, s)
		put64(block[a.Offset:], s.Buffer().Addr())
		put64(block[a.Offset+8:], uint64(n))
	}
	k := p.kernel
	g := runtime.Grid{Blocks: runtime.Dim3{X: k.Blocks[0], Y: k.Blocks[1], Z: k.Blocks[2]}, Threads: runtime.Dim3{X: k.Threads[0], Y: k.Threads[1], Z: k.Threads[2]}}
	if err := dev.DefaultStream().Launch(fn, g, 0, block); err != nil {
		return nil, err
	}
	if err := dev.Sync(); err != nil {
		return nil, err
	}
	var all []byte
	for _, s := range slices {
		got, err := s.Host()
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}
