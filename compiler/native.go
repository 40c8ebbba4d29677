package compiler

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// nativeBackend makes machine code of the CPU.
var nativeBackend = backend{
	kind: target.Native,
	emit: func(m *ir.Module, t target.Target, opt Options) (text string, err error) {
		defer recoverTo(&err, m.Name)
		code, err := nativeOptions(opt).Emit(m, t)
		return string(code), err
	},
	entry: func(name string) string { return name },
}

// nativeOptions returns the options that the emitter gets.
func nativeOptions(opt Options) amd64.Options {
	return amd64.Options{Disable: opt.Disable, After: opt.After}
}

// interpreted reports whether code for t is to run on the interpreter: it reports
// all that checked code reports, and prints.
func interpreted(t target.Target, opt Options, prints bool) bool {
	return t.Kind == target.Native && (opt.Checked || prints)
}

// forInterpreter compiles the program for the interpreter, with warps as t has
// them. The artifact is one for t.
func (p *Program) forInterpreter(t target.Target, opt Options) (*Artifact, error) {
	opt.Assume = 0
	art, err := p.Emit(target.Interpreter(t.WarpSize), opt)
	if err != nil {
		return nil, err
	}
	art.Target = t.String()
	return art, nil
}

// instead compiles for the interpreter a kernel that there is no native code of, for
// a reason. Printing is one. All others are faults of the emitter, which must not keep
// a program from running: the artifact reports them, and Strict makes them errors.
func (p *Program) instead(t target.Target, opt Options, why error) (*Artifact, error) {
	fault := !forInterp(why)
	var internal *InternalError
	switch {
	case !fault || !opt.Strict:
	case errors.As(why, &internal): // which names the kernel
		return nil, why
	default:
		return nil, fmt.Errorf("%s: %w", p.Kernel, why)
	}
	art, err := p.forInterpreter(t, opt)
	if err == nil && fault {
		art.Interpreted = why.Error()
	}
	return art, err
}

// Listing returns native code for people to read: instructions with the lines of Go
// that they are for. Of a kernel that the interpreter runs on this target it
// returns the IR, and native is false; a fault of the emitter is an error here.
func (p *Program) Listing(t target.Target, opt Options) (text string, native bool, err error) {
	defer recoverTo(&err, p.Kernel)
	opt.Strict = true
	art, err := p.Emit(t, opt)
	if err != nil {
		return "", false, err
	}
	if art.Format != FormatX86 {
		return string(art.Code), false, nil
	}
	m, err := p.Optimize(t, opt)
	if err != nil {
		return "", false, err
	}
	text, err = nativeOptions(opt).List(m, t)
	return text, true, err
}

// forInterp reports whether an emitter left a kernel to the interpreter.
func forInterp(err error) bool { return errors.Is(err, image.ErrInterp) }
