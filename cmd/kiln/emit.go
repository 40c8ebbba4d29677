package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
)

type emitFlags struct {
	target, kernel, types, after string
	object                       string
	lines, checked, dump         bool
	consts, funcs, assume        []string
}

func emitCommand() *cobra.Command {
	var f emitFlags
	cmd := &cobra.Command{
		Use:   "emit -target ir|ptx:sm_NN|… [-kernel K] [-types T,U] [-const name=value,…] [-func name=function,…] package",
		Short: "print what the kernels of a package compile to",
		Long:  "Emit prints the code of the kernels of a package. Without -types a generic kernel\nis compiled for the first types that its constraints allow. A compile-time parameter that\n-const does not name gets a representative value: the larger one of the\nkernel's comment //kiln:const, or 8, or true; the values taken are named on standard error.\nA parameter of a function type that -func does not name stands for any function.",
		Example: "  kiln emit -target ptx:sm_90 -kernel SwiGLU -types float32 ./examples/swiglu/kernels\n" +
			"  kiln emit -target ir -after inline -kernel Scale ./kernels\n" +
			"  kiln emit -target ptx:sm_90 -kernel Tiled -const cfg.Tile=16,cfg.Padded=true ./kernels",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("emit wants one package")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return emit(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.target, "target", "ir", "ir (optimised for the CPU), or one of ptx:sm_70 and up, cuda:sm_70 and up,\nhip:gfx942 and others, llvm:gfx942, llvm:sm_90 and others; amd64:avx512 and amd64:avx2\nlist native code for the CPU")
	fl.StringVar(&f.kernel, "kernel", "", "only this kernel")
	fl.StringVar(&f.types, "types", "", "type arguments of a generic kernel, comma-separated")
	fl.StringSliceVar(&f.consts, "const", nil, "values of compile-time parameters and fields, as `name=value`,cfg.Field=value")
	fl.StringSliceVar(&f.funcs, "func", nil, "functions for parameters of function types, as `name=Function`, name=Function[float32] or name=import/path.Function")
	fl.StringSliceVar(&f.assume, "assume", nil, "what every launch keeps to: small (fits 32-bit indices), aligned (slices at multiples of 16 bytes),\ndisjoint (slices do not overlap); a launch chooses the code by what its arguments have")
	fl.StringVar(&f.after, "after", "", "with -target ir: print the IR after this pass; 'front' for the IR before all passes")
	fl.BoolVar(&f.lines, "lines", false, "name Go lines in comments")
	fl.BoolVar(&f.checked, "check", false, "checked code: it reports what Go panics on")
	fl.StringVar(&f.object, "object", "", "with -target llvm:gfxNNN: write the code object (.hsaco) of the kernel to this `file` instead,\nmade by llc and ld.lld; with -target llvm:sm_NN what llc makes, PTX; with -target amd64:avx512 or avx2 the container\nthat the CPU driver loads")
	fl.BoolVar(&f.dump, "dump", false, "write a page (HTML) with the source, the IR after each pass and the result\ninto $KILN_DUMP_DIR, and print its name")
	return cmd
}

func emit(w, stderr io.Writer, pattern string, f emitFlags) error {
	tgt, err := emitTarget(f.target)
	if err != nil {
		return usageError{err}
	}
	consts, err := parseConsts(f.consts)
	if err != nil {
		return usageError{err}
	}
	funcs, err := parseFuncs(f.funcs)
	if err != nil {
		return usageError{err}
	}
	src, err := loadSources([]string{pattern})
	if err != nil {
		return err
	}
	pkgs, err := src.withKernels()
	if err != nil {
		return err
	}
	if f.object != "" && (f.kernel == "" || tgt.Kind != target.LLVM && tgt.Kind != target.Native) {
		return usageError{errors.New("-object wants one kernel, named by -kernel, and -target llvm:<arch> or cpu:<level>")}
	}
	found := 0
	for _, p := range pkgs {
		for _, name := range front.Kernels(p.Package) {
			if f.kernel != "" && name != f.kernel {
				continue
			}
			found++
			req := front.Request{Pkg: p.Path, Func: name, Consts: consts, Funcs: inPackage(funcs, p.Path), Fill: front.FillLarge}
			if f.types != "" {
				req.TypeArgs = strings.Split(f.types, ",")
			} else if req.TypeArgs = front.Representative(p.Package, name, src.loadAsked); req.TypeArgs != nil {
				fmt.Fprintf(stderr, "kiln: %s with the types %s, of those that its constraints allow; -types names others\n", name, strings.Join(req.TypeArgs, ","))
			}
			if err := emitOne(w, stderr, req, src.loadAsked, tgt, f); err != nil {
				return err
			}
		}
	}
	if found == 0 {
		for _, p := range pkgs {
			if err := front.SyntaxErrors(p.Package); err != nil {
				return err
			}
		}
		return fmt.Errorf("no kernel %s in %s: kernels are functions marked //kiln:kernel", f.kernel, pattern)
	}
	return nil
}

// emitTarget is target.Parse with ir as another word for the CPU.
func emitTarget(name string) (target.Target, error) {
	if name == "ir" {
		name = "cpu"
	}
	return target.Parse(name)
}

// parseConsts reads values of compile-time parameters: integers as Go writes
// them, true and false.
func parseConsts(list []string) (map[string]int64, error) {
	consts := map[string]int64{}
	for _, item := range list {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-const %s: want name=value", item)
		}
		n, err := front.ParseConst(value)
		if err != nil {
			return nil, fmt.Errorf("-const %s: %w", item, err)
		}
		consts[name] = n
	}
	return consts, nil
}

// parseFuncs reads functions for parameters of function types: names of functions
// of the kernel's package, or of another after its import path and a dot.
func parseFuncs(list []string) (map[string]front.Func, error) {
	funcs := map[string]front.Func{}
	for _, item := range list {
		param, name, ok := strings.Cut(item, "=")
		if !ok || param == "" || name == "" {
			return nil, fmt.Errorf("-func %s: want name=Function or name=import/path.Function", item)
		}
		plain, _, _ := strings.Cut(name, "[") // type arguments may have dots
		dot := strings.LastIndexByte(plain, '.')
		funcs[param] = front.Func{Pkg: name[:max(dot, 0)], Name: name[dot+1:]}
	}
	return funcs, nil
}

// inPackage fills in the package of functions that have none.
func inPackage(funcs map[string]front.Func, path string) map[string]front.Func {
	out := maps.Clone(funcs)
	for param, f := range out {
		if f.Pkg == "" {
			f.Pkg = path
			out[param] = f
		}
	}
	return out
}

func emitOne(w, stderr io.Writer, req front.Request, load front.Loader, tgt target.Target, f emitFlags) error {
	opt := compiler.OptionsFromEnv()
	opt.Lines, opt.Checked = f.lines, f.checked
	var err error
	if opt.Assume, err = compiler.ParseAssume(f.assume...); err != nil {
		return usageError{fmt.Errorf("-assume: %w", err)}
	}
	if opt.Names, err = front.Names(req.Pkg, load); err != nil {
		return err
	}
	if f.dump {
		return emitPage(w, dump.Input{Request: req, Load: load, Target: tgt, Options: opt, Assemble: dump.PTXAS(tgt)})
	}
	p, err := compiler.Front(req, load)
	if err != nil {
		return err
	}
	if at := strings.IndexByte(p.Kernel, '{'); at >= 0 {
		fmt.Fprintf(stderr, "kiln: %s with the compile-time values %s\n", req.Func, p.Kernel[at:])
	}
	if tgt.Kind == target.Interp {
		return emitIR(w, p, tgt, opt, f.after)
	}
	if f.after != "" {
		return usageError{errors.New("-after needs -target ir")}
	}
	if tgt.Kind == target.Native && f.object == "" {
		return emitListing(w, stderr, p, tgt, opt)
	}
	art, err := p.Emit(tgt, opt)
	if err != nil {
		return err
	}
	if f.object != "" {
		return emitObject(art, tgt, f.object)
	}
	_, err = w.Write(art.Code)
	return err
}

// emitListing prints native code, and the IR of a kernel that has none.
func emitListing(w, stderr io.Writer, p *compiler.Program, tgt target.Target, opt compiler.Options) error {
	text, native, err := p.Listing(tgt, opt)
	if err != nil {
		return err
	}
	if !native {
		fmt.Fprintf(stderr, "kiln: %s runs on the interpreter on %s; this is its IR\n", p.Kernel, tgt)
	}
	_, err = io.WriteString(w, text)
	return err
}

// emitObject writes what the CPU driver loads, or what LLVM's programs make of its IR.
func emitObject(art *compiler.Artifact, tgt target.Target, file string) error {
	if tgt.Kind == target.Native {
		return os.WriteFile(file, art.Code, 0o666)
	}
	tools, err := llvm.FindTools(tgt)
	if err != nil {
		return err
	}
	code, err := tools.Build(context.Background(), string(art.Code), tgt)
	if err != nil {
		return fmt.Errorf("%s: %w", art.Kernel, err)
	}
	return os.WriteFile(file, code, 0o666)
}

func emitPage(w io.Writer, in dump.Input) error {
	page, err := dump.Collect(in)
	if err != nil {
		return err
	}
	file, err := dump.FromEnv(os.Getenv).Write(page)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, file)
	return err
}

func emitIR(w io.Writer, p *compiler.Program, tgt target.Target, opt compiler.Options, after string) error {
	if after == "front" {
		_, err := io.WriteString(w, p.Text)
		return err
	}
	var text string
	var seen []string
	opt.After = func(pass string, m *ir.Module) {
		seen = append(seen, pass)
		if pass == after {
			text = m.String()
		}
	}
	m, err := p.Optimize(tgt, opt)
	if err != nil {
		return err
	}
	if after == "" {
		text = m.String()
	} else if !slices.Contains(seen, after) {
		slices.Sort(seen)
		return usageError{fmt.Errorf("no pass %q: the passes are %s", after, strings.Join(slices.Compact(seen), ", "))}
	}
	_, err = io.WriteString(w, text)
	return err
}
