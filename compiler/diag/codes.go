package diag

import (
	"fmt"
	"strings"
)

// Code names a kind of mistake. Codes are stable: tools and people may match
// on them.
type Code string

// The codes. K00xx concern packages and requests, K01xx the language, K02xx the signature of a
// kernel, K03xx memory and threads, K04xx the size of kernels and the targets, K09xx the compiler
// itself.
const (
	Syntax        Code = "K0001"
	TypeError     Code = "K0002"
	NoSource      Code = "K0003"
	NoKernel      Code = "K0004"
	NotKernel     Code = "K0005"
	BadRequest    Code = "K0006"
	ImportCycle   Code = "K0007"
	Instantiation Code = "K0008"
	ConstValue    Code = "K0009"
	BadInstances  Code = "K0010"
	Stale         Code = "K0011"
	LauncherName  Code = "K0012"

	Channel       Code = "K0101"
	Map           Code = "K0102"
	Goroutine     Code = "K0103"
	Defer         Code = "K0104"
	Recover       Code = "K0105"
	Recursion     Code = "K0106"
	Append        Code = "K0107"
	Heap          Code = "K0108"
	String        Code = "K0109"
	Interface     Code = "K0110"
	Global        Code = "K0111"
	Goto          Code = "K0112"
	RangeFunc     Code = "K0113"
	MethodValue   Code = "K0114"
	Complex       Code = "K0115"
	Print         Code = "K0116"
	Panic         Code = "K0117"
	Select        Code = "K0118"
	TypeSwitch    Code = "K0119"
	Import        Code = "K0120"
	Unsafe        Code = "K0121"
	Builtin       Code = "K0122"
	Escape        Code = "K0123"
	FuncValue     Code = "K0124"
	HalfArith     Code = "K0125"
	NilPointer    Code = "K0126"
	MixedSpaces   Code = "K0127"
	DynamicIndex  Code = "K0128"
	PointerOrder  Code = "K0129"
	LargeValue    Code = "K0130"
	Unsupported   Code = "K0131"
	StoredPointer Code = "K0132"
	LogCall       Code = "K0133"
	Capture       Code = "K0134"
	EndlessLoop   Code = "K0135"
	Unroll        Code = "K0136"

	FirstParam  Code = "K0201"
	HasResult   Code = "K0202"
	ParamType   Code = "K0203"
	KernelForm  Code = "K0204"
	Uninferable Code = "K0205"

	DivergentBarrier Code = "K0301"
	DivergentWarp    Code = "K0302"
	SharedType       Code = "K0303"
	SharedTwice      Code = "K0304"
	AtomicOperand    Code = "K0305"
	SliceLength      Code = "K0306"
	CopyOperand      Code = "K0307"
	AlwaysOutOfRange Code = "K0308"
	MatrixOperand    Code = "K0309"

	TooLarge    Code = "K0401"
	TargetLimit Code = "K0402"
	TargetLacks Code = "K0403"
	WarpWidth   Code = "K0404"

	Internal Code = "K0901"
)

// Row documents a code.
type Row struct {
	Code    Code
	Name    string // short name, as in "goroutine"
	Summary string // what is wrong and why it is
	Example string // Go text that triggers it; statements stand for the body of a kernel
	Fix     string // the way out
}

// Lookup returns the row of a code, nil if there is none.
func Lookup(c Code) *Row {
	for i := range Codes {
		if Codes[i].Code == c {
			return &Codes[i]
		}
	}
	return nil
}

// Markdown returns the reference page of all codes.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Diagnostics\n\n")
	b.WriteString("Every mistake that Kiln reports in a kernel has a code. The codes are stable. Only code that a kernel\n")
	b.WriteString("reaches is checked, so host code may stand in the same file.\n\n")
	b.WriteString("This page is generated from the table in `compiler/diag`; run `go test ./compiler/diag -update` after a change.\n")
	for _, r := range Codes {
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n", r.Code, r.Name, r.Summary)
		if r.Example != "" {
			fmt.Fprintf(&b, "\n```go\n%s\n```\n", strings.TrimSpace(r.Example))
		}
		if r.Fix != "" {
			fmt.Fprintf(&b, "\n**Way out:** %s.\n", r.Fix)
		}
	}
	return b.String()
}
