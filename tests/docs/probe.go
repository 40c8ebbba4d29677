package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
)

// probe is a kernel that calls one function once.
type probe struct {
	params []string // of the kernel, after the Thread
	body   []string
	ops    []ir.Op // of the IR that only carry arguments and result
	noise  []string
	custom bool
}

// found is what a probe tells of a function.
type found struct {
	ops     []string // operations in the IR
	call    bool     // compiled from its body
	opcodes []string // PTX instructions, in order
	lack    string   // why PTX has it not, "" if it has
}

// probeTarget is what the reference names instructions of.
const probeTarget = "ptx:sm_90a"

// concrete is the type that stands for a type parameter, by its constraint.
var concrete = map[string]string{
	"Real": "float32", "Word": "int32", "WordInt": "uint32", "Number": "float32", "Float": "F16", "Word | F16 | BF16": "float32", "any": "float32",
}

// What one argument and one result need.
var (
	loadStore = []ir.Op{ir.OpLoad, ir.OpStore}
	moved     = []string{"ld.global", "st.global"}
)

// customProbes are for functions that cannot be called by looking at their
// signature alone.
var customProbes = map[string]probe{
	"dsl.F32":                   {params: []string{"out []float32", "x []dsl.BF16"}, body: []string{"out[0] = dsl.F32(x[0])"}, ops: loadStore, noise: moved},
	"dsl.F64":                   {params: []string{"out []float64", "x []float32"}, body: []string{"out[0] = dsl.F64(x[0])"}, ops: loadStore, noise: moved},
	"dsl.Shared":                {body: []string{"dsl.Shared[[64]float32](t)"}},
	"dsl.DynamicShared":         {params: []string{"out []float32", "n int"}, body: []string{"s := dsl.DynamicShared[float32](t, n)", "s[0] = out[0]", "t.Sync()", "out[0] = s[0]"}},
	"dsl.SharedSlice":           {params: []string{"out []float32"}, body: []string{"s := dsl.SharedSlice[float32](t, 64)", "s[0] = out[0]", "t.Sync()", "out[0] = s[0]"}},
	"dsl.LocalSlice":            {params: []string{"out []float32", "i []int"}, body: []string{"s := dsl.LocalSlice[float32](64)", "s[i[0]] = out[0]", "out[0] = s[i[1]]"}},
	"dsl.LaunchBounds":          {body: []string{"dsl.LaunchBounds(t, 128, 2)"}},
	"dsl.LoadVec":               {params: []string{"out, x []float32"}, body: []string{"v := dsl.LoadVec[[4]float32](x, 0)", "out[0] = v[0] + v[1] + v[2] + v[3]"}, noise: []string{"st.global", "add.rn", "add.rn", "add.rn"}},
	"dsl.StoreVec":              {params: []string{"out, x []float32"}, body: []string{"a := x[0]", "dsl.StoreVec(out, 0, [4]float32{a, a, a, a})"}, noise: []string{"ld.global"}},
	"dsl.CopyAsync":             {params: []string{"x []float32"}, body: []string{"s := dsl.Shared[float32](t)", "dsl.CopyAsync(s, &x[0])"}, ops: []ir.Op{ir.OpShared}},
	"dsl.CopyVecAsync":          {params: []string{"x []float32"}, body: []string{"s := dsl.Shared[[4]float32](t)", "dsl.CopyVecAsync[[4]float32](s[:], 0, x, 0)"}, ops: []ir.Op{ir.OpShared}},
	"dsl.CopyVecAsyncOrZero":    {params: []string{"x []float32", "n int"}, body: []string{"s := dsl.Shared[[4]float32](t)", "dsl.CopyVecAsyncOrZero[[4]float32](s[:], 0, x, 0, n > 4)"}, ops: []ir.Op{ir.OpShared}},
	"dsl.CopyWaitGroups":        {body: []string{"dsl.CopyWaitGroups(1)"}},
	"dsl.MBarrier.Init":         {body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "b.Init(32)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.MBarrier.Arrive":       {body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "b.Arrive()"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.MBarrier.ArriveExpect": {body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "b.ArriveExpect(64)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.MBarrier.TestWait":     {params: []string{"out []bool"}, body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "out[0] = b.TestWait(t, 0)"}, ops: []ir.Op{ir.OpShared, ir.OpField, ir.OpStore}, noise: []string{"st.global"}},
	"dsl.MBarrier.Wait":         {body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "b.Wait(t, 0)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.AtomicLoadExplicit":    {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicLoadExplicit(&x[0], dsl.Acquire, dsl.DeviceScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicStoreExplicit":   {params: []string{"out []uint32", "x []uint32"}, body: []string{"dsl.AtomicStoreExplicit(&out[0], x[0], dsl.Release, dsl.DeviceScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicAddExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicAddExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicMinExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicMinExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicMaxExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicMaxExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicAndExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicAndExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicOrExplicit":      {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicOrExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicXorExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicXorExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicExchExplicit":    {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicExchExplicit(&x[0], x[1], dsl.AcquireRelease, dsl.BlockScope)"}, ops: loadStore, noise: moved},
	"dsl.AtomicCASExplicit":     {params: []string{"out []uint32", "x []uint32"}, body: []string{"out[0] = dsl.AtomicCASExplicit(&x[0], x[1], x[2], dsl.AcquireRelease, dsl.DeviceScope)"}, ops: loadStore, noise: moved},
	"dsl.Assert":                {params: []string{"x []int"}, body: []string{"dsl.Assert(t, x[0] > 0, \"positive\")"}},
	"dsl.Printf":                {params: []string{"x []int"}, body: []string{"dsl.Printf(t, \"%d\\n\", x[0])"}},
	"float16.Float16.Float32":   {params: []string{"out []float32", "x []dsl.F16"}, body: []string{"out[0] = x[0].Float32()"}, ops: loadStore, noise: moved},
	"float16.Float16.Bits":      {params: []string{"out []uint16", "x []dsl.F16"}, body: []string{"out[0] = x[0].Bits()"}, ops: loadStore, noise: moved},
	"dsl.MBarrier.ArriveRemote": {body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "b.ArriveRemote(1)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.CopyTensorAsync":       {params: []string{"m dsl.TensorMap"}, body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "s := dsl.SharedSlice[dsl.BF16](t, 4096)", "dsl.CopyTensorAsync(t, s, 0, m, 0, 0, 0, b, 0)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.CopyPixelsAsync":       {params: []string{"m dsl.TensorMap"}, body: []string{"b := dsl.Shared[dsl.MBarrier](t)", "s := dsl.SharedSlice[dsl.BF16](t, 4096)", "dsl.CopyPixelsAsync(t, s, 0, m, 2, dsl.Pixel{}, b, 0)"}, ops: []ir.Op{ir.OpShared, ir.OpField}},
	"dsl.StoreTensorAsync":      {params: []string{"m dsl.TensorMap"}, body: []string{"s := dsl.SharedSlice[dsl.BF16](t, 4096)", "dsl.StoreTensorAsync(t, s, 0, m, 0, 0, 0)"}, ops: []ir.Op{ir.OpShared}},
	"dsl.StoreTensorWait":       {body: []string{"dsl.StoreTensorWait(t, 0)"}},
	"dsl.Cluster":               {body: []string{"dsl.Cluster(t, 2)"}},
	"dsl.FewerRegisters":        {body: []string{"dsl.FewerRegisters(t, 40)"}},
	"dsl.MoreRegisters":         {body: []string{"dsl.MoreRegisters(t, 232)"}},
	"dsl.MatrixShape":           {params: []string{"out []int"}, body: []string{"out[0] = int(dsl.MatrixShape[dsl.BF16, float32](t, dsl.MatrixM))"}, ops: loadStore, noise: moved},
	"dsl.MatrixRow":             {params: []string{"out []int"}, body: []string{"out[0] = dsl.MatrixRow[dsl.BF16](t, dsl.MatrixC, out[1])"}, ops: loadStore, noise: moved},
	"dsl.MatrixCol":             {params: []string{"out []int"}, body: []string{"out[0] = dsl.MatrixCol[dsl.BF16](t, dsl.MatrixC, out[1])"}, ops: loadStore, noise: moved},
	"dsl.MMA":                   {body: []string{"a, b, c := dsl.LocalSlice[dsl.BF16](8), dsl.LocalSlice[dsl.BF16](4), dsl.LocalSlice[float32](4)", "dsl.MMA(t, a, 0, b, 0, c, 0)"}},
	"dsl.LoadMatrix":            {body: []string{"a, s := dsl.LocalSlice[dsl.BF16](8), dsl.SharedSlice[dsl.BF16](t, 256)", "dsl.LoadMatrix(t, a, 0, s, t.Lane()*8, false)"}},
	"dsl.PackedMMA":             {params: []string{"x []dsl.BF16"}, body: []string{"c := dsl.LocalSlice[float32](dsl.PackedSums)", "if dsl.MatrixShape[dsl.BF16, float32](t, dsl.MatrixPacked) > 0 {", "dsl.PackedMMA(t, x, 16, x, c, 1)", "}"}},
	"dsl.WarpgroupMMA":          {body: []string{"c, s := dsl.LocalSlice[float32](4), dsl.SharedSlice[dsl.BF16](t, 8192)", "dsl.WarpgroupMMA(t, s, 0, s, 4096, c, 0, 8, 64, false, false, true)"}},
	"dsl.WarpgroupWait":         {body: []string{"dsl.WarpgroupWait(t, 0)"}},
}

// runProbe compiles the probe of a function. Type parameters stand for the first
// of a few types that their constraints allow.
func runProbe(f function) (what found, err error) {
	for _, typ := range []string{"float32", "int32", "uint32", "F16", "F8E4M3"} {
		what, failed := probeOf(f, typ).run()
		if failed == nil {
			return what, nil
		}
		if err == nil {
			err = failed
		}
	}
	return found{}, fmt.Errorf("%s: no probe compiles, add a row to customProbes: %w", f.key(), err)
}

// probeOf writes the probe of a function from its signature. Type parameters
// with constraints that are not in the table above become typ.
func probeOf(f function, typ string) probe {
	if p, ok := customProbes[f.key()]; ok {
		p.custom = true
		return p
	}
	p := probe{}
	w := probeWriter{p: &p, types: map[string]string{}, typ: typ}
	w.typeParams(f.decl.Type.TypeParams)
	recv := ""
	if f.recv != "" {
		recv = w.argument(f.decl.Recv.List[0].Type, "r")
	}
	var args []string
	for _, field := range f.decl.Type.Params.List {
		for range max(len(field.Names), 1) {
			args = append(args, w.argument(field.Type, fmt.Sprintf("a%d", len(args))))
		}
	}
	call := f.pkg + "." + f.name
	if recv != "" {
		call = recv + "." + f.name
	} else if w.explicit != "" {
		call += "[" + w.explicit + "]"
	}
	w.results(f.decl.Type.Results, call+"("+strings.Join(args, ", ")+")")
	return p
}

type probeWriter struct {
	p        *probe
	types    map[string]string // type parameter -> concrete type
	explicit string            // type arguments
	typ      string            // for other constraints
}

func (w *probeWriter) typeParams(list *ast.FieldList) {
	if list == nil {
		return
	}
	var all []string
	for _, f := range list.List {
		for _, id := range f.Names {
			t := concrete[exprText(f.Type)]
			if t == "" {
				t = w.typ
			}
			w.types[id.Name] = qualified(t)
			all = append(all, qualified(t))
		}
	}
	w.explicit = strings.Join(all, ", ")
}

// qualified adds the package to names of package dsl.
func qualified(t string) string {
	if t == "Float16" {
		return "dsl.F16"
	}
	if ast.IsExported(t) {
		return "dsl." + t
	}
	return t
}

// argument adds what the kernel needs to pass a value of type t, and returns
// the expression.
func (w *probeWriter) argument(t ast.Expr, name string) string {
	switch t := t.(type) {
	case *ast.Ident:
		if t.Name == "Thread" {
			return "t"
		}
		if t.Name == "ConstInt" {
			return "4"
		}
		w.load(name, w.typeName(t))
		return name + "[0]"
	case *ast.StarExpr:
		w.p.params = append(w.p.params, name+" []"+w.typeName(t.X))
		w.p.ops = append(w.p.ops, ir.OpBounds, ir.OpOffset, ir.OpConst)
		return "&" + name + "[0]"
	case *ast.ArrayType:
		w.p.params = append(w.p.params, name+" []"+w.typeName(t.Elt))
		return name
	case *ast.FuncType:
		return "func(a, b " + w.typeName(t.Params.List[0].Type) + ") " + w.typeName(t.Results.List[0].Type) + " { return a + b }"
	}
	return "unknown"
}

func (w *probeWriter) typeName(t ast.Expr) string {
	name := exprText(t)
	if c := w.types[name]; c != "" {
		return c
	}
	return qualified(name)
}

// load is an argument out of memory.
func (w *probeWriter) load(name, typ string) {
	w.p.params = append(w.p.params, name+" []"+typ)
	w.p.ops = append(w.p.ops, ir.OpBounds, ir.OpOffset, ir.OpLoad, ir.OpConst)
	w.p.noise = append(w.p.noise, "ld.global")
	if typ == "bool" {
		w.p.noise = append(w.p.noise, "setp.ne")
	}
}

func (w *probeWriter) results(list *ast.FieldList, call string) {
	if list == nil {
		w.p.body = []string{call}
		return
	}
	var names []string
	var stores []string
	for _, f := range list.List {
		for range max(len(f.Names), 1) {
			out := fmt.Sprintf("out%d", len(names))
			typ := w.typeName(f.Type)
			w.p.params = append(w.p.params, out+" []"+typ)
			names = append(names, "v"+out)
			stores = append(stores, out+"[0] = v"+out)
			w.p.ops = append(w.p.ops, ir.OpBounds, ir.OpOffset, ir.OpStore, ir.OpConst)
			w.p.noise = append(w.p.noise, "st.global")
			if typ == "bool" {
				w.p.noise = append(w.p.noise, "selp")
			}
		}
	}
	w.p.body = append([]string{strings.Join(names, ", ") + " := " + call}, stores...)
}

// source returns the probe as a kernel package. Imports that it does not use
// are left out.
func (p probe) source() string {
	body := strings.Join(p.body, "\n\t")
	params := strings.Join(append([]string{"t dsl.Thread"}, p.params...), ", ")
	var b strings.Builder
	b.WriteString("package probe\n\nimport \"github.com/gokiln/kiln/dsl\"\n")
	for name, path := range map[string]string{"math": "math", "bits": "math/bits", "float16": "github.com/x448/float16", "fast": "github.com/gokiln/kiln/dsl/fast"} {
		if strings.Contains(body+params, name+".") {
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	fmt.Fprintf(&b, "\n//kiln:kernel\nfunc K(%s) {\n\t%s\n}\n", params, body)
	return b.String()
}

// run compiles the probe and takes away what is not the function.
func (p probe) run() (found, error) {
	src := p.source()
	load := func(path string) (*front.Package, error) {
		if path != "probe" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return &front.Package{Path: path, Files: []front.File{{Name: "probe.go", Text: []byte(src)}}}, nil
	}
	prog, err := compiler.Front(front.Request{Pkg: "probe", Func: "K"}, load)
	if err != nil {
		return found{}, fmt.Errorf("%w in\n%s", err, src)
	}
	m, err := ir.Parse(prog.Text)
	if err != nil {
		return found{}, err
	}
	f := p.irOps(m)
	tgt, err := target.Parse(probeTarget)
	if err != nil {
		return found{}, err
	}
	art, err := prog.Emit(tgt, compiler.Options{})
	if lack, ok := errors.AsType[*target.Unsupported](err); ok {
		f.lack = lack.Why
		return f, nil
	}
	if err != nil {
		return found{}, fmt.Errorf("%w in\n%s", err, src)
	}
	f.opcodes = p.instructions(string(art.Code))
	return f, nil
}

func (p probe) irOps(m *ir.Module) found {
	var f found
	rest := slices.Clone(p.ops)
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			switch i := slices.Index(rest, v.Op); {
			case v.Op == ir.OpCall:
				f.call = true
			case i >= 0:
				rest = slices.Delete(rest, i, i+1)
			case v.Op == ir.OpConst || p.custom && slices.Contains([]ir.Op{ir.OpBounds, ir.OpOffset, ir.OpProj}, v.Op):
			case v.Op == ir.OpProj:
			default:
				if name := v.Op.String(); !slices.Contains(f.ops, name) {
					f.ops = append(f.ops, name)
				}
			}
		}
	}
	return f
}

// instructions drops the loading of parameters and as many instructions of
// each kind as arguments and results need.
func (p probe) instructions(text string) []string {
	rest := slices.Clone(p.noise)
	var out []string
	for _, op := range ptx.Opcodes(text) {
		i := slices.IndexFunc(rest, func(n string) bool { return strings.HasPrefix(op, n) })
		switch {
		case strings.HasPrefix(op, "ld.param"), strings.HasPrefix(op, "cvta."), strings.HasPrefix(op, "griddepcontrol."), op == "ret":
		case i >= 0:
			rest = slices.Delete(rest, i, i+1)
		default:
			out = append(out, op)
		}
	}
	return out
}
