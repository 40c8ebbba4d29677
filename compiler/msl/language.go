package msl

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Language is the Metal Shading Language.
var Language = &cfamily.Language{
	Kind:         target.MSL,
	Rows:         rows,
	MissingTypes: map[ir.Kind]string{ir.KF64: "Metal has no 64-bit floats; use float32"},
	Refuse:       refuse,
	Helpers:      helpers,
	Head:         head,
	Pointer: func(elem string, space ir.Space, _ bool) string {
		return spaces[space] + " " + elem + "*"
	},
	Shared: func(elem, name string) string { return fmt.Sprintf("threadgroup %s %s;", elem, name) },
	// The launch says how long it is, by setThreadgroupMemoryLength:atIndex:.
	Dynamic: &cfamily.Param{Attr: "threadgroup(0)"},
	Table:   func(elem, name string) string { return fmt.Sprintf("constant %s %s", elem, name) },
	Zero:    "{p} = {t}{};",
	Inputs: []cfamily.Param{
		{Type: "metal::uint3", Name: "thread_at", Attr: "thread_position_in_threadgroup"},
		{Type: "metal::uint3", Name: "block_at", Attr: "threadgroup_position_in_grid"},
		{Type: "metal::uint3", Name: "block_size", Attr: "threads_per_threadgroup"},
		{Type: "metal::uint3", Name: "grid_size", Attr: "threadgroups_per_grid"},
		{Type: "u32", Name: "lane_at", Attr: "thread_index_in_simdgroup"},
		{Type: "u32", Name: "warp_at", Attr: "simdgroup_index_in_threadgroup"},
	},
	Words: append(strings.Fields("kiln_args half bfloat uint2 uint3 uint4 fragment vertex intersection object mesh visible ray_data object_data as_type texture2d sampler"), atomics...),
	Entry: entry,
}

// spaces are the address spaces as Metal calls them.
var spaces = map[ir.Space]string{ir.Global: "device", ir.Shared: "threadgroup", ir.Local: "thread", ir.Constant: "constant"}

// basic are the types that are read once; structs stay where they are.
var basic = map[string]bool{"i8": true, "u8": true, "i16": true, "u16": true, "i32": true, "u32": true, "i64": true, "u64": true, "f32": true}

// head asks for floats that keep their meaning. Versions before 3.2 have no pragma
// for all of it; there the driver's options turn fast math off. What clang would warn of
// is meant: x == x is how one asks for NaN, and clang does not see that a flag tells
// whether a variable is set.
func head(t target.Target) string {
	const quiet = "#pragma clang diagnostic ignored \"-Wtautological-compare\"\n#pragma clang diagnostic ignored \"-Wuninitialized\"\n"
	if t.Version >= 32 {
		return "#include <metal_stdlib>\n#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n" + quiet
	}
	return "#include <metal_stdlib>\n#pragma clang fp contract(off)\n" + quiet
}

// entry declares the kernel, and the struct that its arguments are in.
func entry(_ target.Target, name string, params []cfamily.Param, _ ir.Bounds) (string, []string) {
	var fields, list, body []string
	for _, p := range params {
		switch {
		case p.Attr != "":
			list = append(list, fmt.Sprintf("%s %s [[%s]]", p.Type, p.Name, p.Attr))
			continue
		case p.Bool: // a byte, which may hold anything
			body = append(body, fmt.Sprintf("bool %[1]s = kiln_args.%[1]s != 0;", p.Name))
		case strings.HasPrefix(p.Type, "device "), basic[p.Type]:
			body = append(body, fmt.Sprintf("%s %[2]s = kiln_args.%[2]s;", p.Type, p.Name))
		default:
			body = append(body, fmt.Sprintf("constant %s& %[2]s = kiln_args.%[2]s;", p.Type, p.Name))
		}
		fields = append(fields, fmt.Sprintf("\t%s %s;\n", p.Type, p.Name))
	}
	decl := ""
	if len(fields) > 0 {
		decl = fmt.Sprintf("struct %s_args {\n%s};\n\n", name, strings.Join(fields, ""))
		list = append([]string{fmt.Sprintf("constant %s_args& kiln_args [[buffer(0)]]", name)}, list...)
	}
	return fmt.Sprintf("%skernel void %s(%s)", decl, name, strings.Join(list, ", ")), body
}

// refuse says what Metal lacks of an operation that it has.
func refuse(t target.Target, v *ir.Value) string {
	switch {
	case v.Op == ir.OpFence && t.Version < 32:
		return "Metal has fences from version 3.2 on; hand values on between kernels"
	case v.Op == ir.OpFenceBlock && t.Version < 32:
		return "Metal has fences from version 3.2 on; use a barrier"
	case !v.Op.IsAtomic():
		return ""
	case v.Order() != ir.Relaxed && t.Version < 32:
		return "Metal has fences from version 3.2 on, which order its atomic operations; hand values on between kernels"
	}
	if k := v.Args[0].Type.Elem.Kind; k == ir.KI64 || k == ir.KU64 {
		return "Metal has no 64-bit atomics on all devices; use 32-bit integers"
	}
	return ""
}
