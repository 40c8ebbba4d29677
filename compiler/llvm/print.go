package llvm

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// function gives the function its name, attributes and parameters. Instructions that these
// need go to its first block.
func (e *emitter) function() {
	e.fn.SetName(ir.Symbol(e.f.Name))
	e.fn.CallingConv = e.d.convention
	e.fn.FuncAttrs = e.d.attributes(e.t, e.m.Launch)
	if e.d.triple == "" {
		e.blockParameters()
		return
	}
	offsets, size := e.f.ParamOffsets()
	names := e.paramNames()
	written := ir.WrittenParams(e.f)
	at := 0
	for i, p := range e.f.Params {
		n := p.Type.Size()
		if (at+n-1)/n*n != offsets[i] {
			e.pad(offsets[i] - at)
		}
		at = offsets[i] + n
		e.vals[p.ID] = e.received(p, e.param(names[i], e.receivedType(p), e.paramAttributes(p, written[i])...))
	}
	// The block is padded as a whole, too: see ir.BlockAlign.
	e.pad((size+ir.BlockAlign-1)/ir.BlockAlign*ir.BlockAlign - at)
}

// param adds a parameter to the function.
func (e *emitter) param(name string, t types.Type, attrs ...llir.ParamAttribute) value.Value {
	p := llir.NewParam(name, t)
	p.Attrs = attrs
	e.fn.Params = append(e.fn.Params, p)
	return p
}

func (e *emitter) pad(n int) {
	if n > 0 {
		e.param("", array(n, types.I8))
	}
}

// receivedType is the type of a parameter in the argument block, where a bool is a byte.
func (e *emitter) receivedType(p *ir.Value) types.Type {
	if p.Type.Kind == ir.KBool {
		return types.I8
	}
	return e.d.typeOf(p.Type)
}

// received makes the parameter of what was in the argument block.
func (e *emitter) received(p *ir.Value, x value.Value) value.Value {
	if p.Type.Kind == ir.KBool {
		return e.icmp(enum.IPredNE, x, i8(0))
	}
	return x
}

func (e *emitter) paramAttributes(p *ir.Value, written bool) []llir.ParamAttribute {
	out := []llir.ParamAttribute{enum.ParamAttrNoUndef}
	if !p.Type.IsPtr() {
		return out
	}
	if e.opt.Disjoint {
		out = append(out, enum.ParamAttrNoAlias)
	}
	if e.opt.Disjoint && !written {
		out = append(out, enum.ParamAttrReadOnly)
	}
	if e.opt.Aligned {
		out = append(out, llir.Align(objectAlign))
	}
	return out
}

// blockParameters loads the parameters from the argument block, whose address is
// the only parameter of the function.
func (e *emitter) blockParameters() {
	block := e.param(".args", pointer(0))
	offsets, _ := e.f.ParamOffsets()
	for i, p := range e.f.Params {
		at := e.offset(types.I8, block, i64(int64(offsets[i])))
		e.vals[p.ID] = e.received(p, e.load(e.receivedType(p), at, p.Type.Align()))
	}
}

// paramNames names the parameters after those of the Go function.
func (e *emitter) paramNames() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range e.f.Args {
		base := ir.Symbol(a.Name)
		if base == "" {
			base = "$"
		}
		if n := a.NumParams(); n > 0 && seen[base] {
			base = fmt.Sprintf("%s.%d", base, len(out))
		}
		seen[base] = true
		for i := range a.NumParams() {
			name := base
			switch {
			case a.Kind == ir.ArgSlice && i == 1:
				name += ".len"
			case a.Kind == ir.ArgStruct:
				name += fmt.Sprintf(".%d", i)
			}
			out = append(out, name)
		}
	}
	return out
}

// print returns the module's text.
func (e *emitter) print() string {
	e.out.TargetTriple = e.d.triple
	e.out.Funcs = append(e.out.Funcs, e.fn)
	for _, name := range slices.Sorted(maps.Keys(e.declared)) {
		e.out.Funcs = append(e.out.Funcs, e.declared[name])
	}
	if e.d.triple != "" {
		e.annotate()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "; kernel %s for %s\n", e.f.Name, e.t)
	e.out.WriteTo(&text) // which returns no error of a builder
	if !e.opt.Lines && strings.Contains(text.String(), "%!") {
		panic("text that fmt could not write") // it recovers from panics of the library's String
	}
	return text.String()
}

// annotate writes the metadata of the module: the version of its form for amdgcn, launch
// bounds for nvptx64. The latter have numbers made of the kernel's name, so that [Join]
// can put texts together; named metadata may stand several times.
func (e *emitter) annotate() {
	if e.d.isa&amdgcn != 0 {
		// Code object version 5 is the first with sizes of blocks in the implicit arguments.
		e.named("llvm.module.flags", tuple(0, i32(1), text("amdhsa_code_object_version"), i32(500)))
		return
	}
	h := fnv.New32a()
	h.Write([]byte(e.fn.Name()))
	first := int64(h.Sum32()>>2 + 1)
	var nodes []*metadata.Tuple
	add := func(what string, n int) {
		if n > 0 {
			nodes = append(nodes, tuple(first+int64(len(nodes)), address{e.fn, 0}, text(what), i32(int64(n))))
		}
	}
	add("maxntidx", e.m.Launch.Threads)
	add("minctasm", e.m.Launch.Blocks)
	if len(nodes) > 0 {
		e.named("nvvm.annotations", nodes...)
	}
}

// named writes nodes of metadata under a name.
func (e *emitter) named(name string, nodes ...*metadata.Tuple) {
	def := &metadata.NamedDef{Name: name}
	for _, n := range nodes {
		def.Nodes = append(def.Nodes, n)
		e.out.MetadataDefs = append(e.out.MetadataDefs, n)
	}
	e.out.NamedMetadataDefs[name] = def
}

// attributes of a kernel. The GPU's own defaults flush no subnormal numbers
// either, but they are not the same in all versions.
func (d *dialect) attributes(t target.Target, launch ir.Bounds) []llir.FuncAttribute {
	out := []llir.FuncAttribute{enum.FuncAttrNoUnwind}
	add := func(key, value string) { out = append(out, llir.AttrPair{Key: key, Value: value}) }
	if d.triple != "" {
		add("target-cpu", t.Arch)
	}
	if d.triple != "" && d.isa&amdgcn != 0 {
		least, most := 1, t.MaxThreads
		if launch.Threads > 0 {
			least, most = launch.Threads, launch.Threads
		}
		add("amdgpu-flat-work-group-size", fmt.Sprintf("%d,%d", least, most))
		add("uniform-work-group-size", "true")
	}
	add("denormal-fp-math", "ieee,ieee")
	add("denormal-fp-math-f32", "ieee,ieee")
	return out
}
