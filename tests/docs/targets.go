package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/opencl"
)

// targets are the emitters beside PTX: the spellings that each has of an
// operation, or the reason why it has none.
var targets = []struct {
	title string
	spell func(op ir.Op) (list []string, why string)
}{
	{"CUDA C++", structured(cuda.Language)},
	{"HIP C++", structured(hip.Language)},
	{"Metal", structured(msl.Language)},
	{"OpenCL C", structured(opencl.Language)},
	{"LLVM IR", func(op ir.Op) ([]string, string) {
		_, why := llvm.Spellings(op)
		return llvm.Templates(op), why
	}},
}

// structured returns the spellings of a C-like language, those of int32 first.
func structured(l *cfamily.Language) func(op ir.Op) ([]string, string) {
	return func(op ir.Op) (list []string, why string) {
		if why := l.Lacks(op); why != "" {
			return nil, why
		}
		if why := cfamily.Coded[op]; why != "" {
			return nil, why
		}
		var others []string
		for _, r := range slices.Concat(l.Rows, cfamily.Rows) {
			switch {
			case r.Op != op:
			case r.On == 0 || r.On&ir.KindsOf(ir.KI32) != 0:
				list = append(list, r.Text)
			default:
				others = append(others, r.Text)
			}
		}
		return append(list, others...), ""
	}
}

// elsewhere writes the table of spellings on the other targets.
func (r *reference) elsewhere() {
	r.printf("\n## Operations on other targets\n\nThe same for the other emitters, one spelling of each, that of 32-bit integers if there is one; `$a`, `$b`, `$c` are the operands, `$p` is what the address points to, `{t}` is the\ntype, `{u}` its unsigned kin, `{k}` its short name and `{n}` its width, and `{unit}` is the name of a matrix instruction. LLVM IR is that of one type, of the operands `%%a`, `%%b` and `%%c`. A name such as `div_{k}` is a function that the text defines itself. A blank cell says the\nsame as the one to its left.\n\n| operation |")
	for _, t := range targets {
		r.printf(" %s |", t.title)
	}
	r.printf("\n|---|%s\n", strings.Repeat("---|", len(targets)))
	for op := range ir.Ops {
		r.printf("| `%s` |", op)
		last := ""
		for _, t := range targets {
			text := one(t.spell(op))
			if text == last {
				text = ""
			} else {
				last = text
			}
			r.printf(" %s |", text)
		}
		r.printf("\n")
	}
}

// one shows the first spelling and how many there are.
func one(list []string, why string) string {
	if len(list) == 0 {
		return cell(why)
	}
	text := strings.ReplaceAll(strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(list[0]), "\n", "; ")), " "), "|", `\|`)
	if n := len(list) - 1; n > 0 {
		return fmt.Sprintf("`%s`<br>%d more", text, n)
	}
	return "`" + text + "`"
}
