package ptx

import (
	"regexp"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// class is the width of a register.
type class uint8

const (
	pred class = iota // %p
	b16               // %rs
	b32               // %r
	b64               // %rd
	numClasses
)

var classNames = [numClasses]struct{ prefix, bits string }{
	pred: {"%p", "pred"}, b16: {"%rs", "b16"}, b32: {"%r", "b32"}, b64: {"%rd", "b64"},
}

// kindOf returns the kind that stands for t when instructions are selected:
// pointers are integers of the width of their space's addresses.
func kindOf(t *ir.Type) ir.Kind {
	switch {
	case t.IsPtr() && (t.Space == ir.Global || t.Space == ir.Constant):
		return ir.KU64
	case t.IsPtr():
		return ir.KU32
	}
	return t.Kind
}

func classOf(k ir.Kind) class {
	switch k {
	case ir.KBool:
		return pred
	case ir.KF16, ir.KBF16:
		return b16
	case ir.KI64, ir.KU64, ir.KF64:
		return b64
	}
	return b32
}

// pieceKind says what a piece of a template stands for.
type pieceKind uint8

const (
	pieceText    pieceKind = iota
	pieceResult            // $d
	pieceOperand           // $a $b $c: a register or an immediate
	pieceReg               // $A $B $C: a register
	pieceAddr              // [$a] [$b]
	pieceTemp              // $p0 $h0 $r0 $q0: temporaries of the four classes
	pieceLog               // $k: binary logarithm of constant operand b
	pieceRest              // $n: register width less $k
	pieceMask              // $m: constant operand b less one
	pieceInvMask           // $M: complement of $m
	pieceLabel             // $L: a label of its own for each use of the template
)

type piece struct {
	kind pieceKind
	n    int // operand number, or temporary number
	c    class
	text string
}

// pattern is one instruction of a template.
type pattern struct {
	pieces []piece
	defs   int  // how many of the first register pieces are results
	float  bool // immediates of this instruction are written as floats
	effect bool // must stay even if nothing uses a result
	label  bool // no instruction: the place of $L
}

var placeholder = regexp.MustCompile(`\[\$[ab]\]|\$[prqh][0-9]+|\$[a-dA-CknmML]`)

// parseTemplate reads a template: instructions separated by semicolons.
func parseTemplate(asm string) []pattern {
	var out []pattern
	for _, line := range strings.Split(asm, ";") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, parsePattern(line))
		}
	}
	return out
}

func parsePattern(line string) pattern {
	if line == "$L:" {
		return pattern{label: true}
	}
	opcode, rest, _ := strings.Cut(line, " ")
	p := pattern{float: strings.HasSuffix(opcode, ".f32") || strings.HasSuffix(opcode, ".f64")}
	switch base, _, _ := strings.Cut(opcode, "."); base {
	case "st", "cp", "bar", "bra", "trap", "fence":
		p.effect = true
	case "atom":
		p.effect, p.defs = true, 1
	case "mbarrier":
		p.effect = true
		if rest[0] != '[' {
			p.defs = 1
		}
	default:
		if opcode[0] == '@' {
			p.effect = true
			break
		}
		p.defs = 1
		if group, _, ok := strings.Cut(rest, "}"); ok && rest[0] == '{' {
			p.defs = strings.Count(group, "$")
		}
	}
	at := 0
	for _, m := range placeholder.FindAllStringIndex(line, -1) {
		if m[0] > at {
			p.pieces = append(p.pieces, piece{text: line[at:m[0]]})
		}
		p.pieces = append(p.pieces, parsePlaceholder(line[m[0]:m[1]]))
		at = m[1]
	}
	if at < len(line) {
		p.pieces = append(p.pieces, piece{text: line[at:]})
	}
	return p
}

var tempClass = map[byte]class{'p': pred, 'h': b16, 'r': b32, 'q': b64}

func parsePlaceholder(s string) piece {
	if s[0] == '[' {
		return piece{kind: pieceAddr, n: int(s[2] - 'a')}
	}
	ch := s[1]
	if len(s) > 2 {
		n := 0
		for _, d := range s[2:] {
			n = n*10 + int(d-'0')
		}
		return piece{kind: pieceTemp, n: n, c: tempClass[ch]}
	}
	switch {
	case ch == 'd':
		return piece{kind: pieceResult}
	case ch >= 'a' && ch <= 'c':
		return piece{kind: pieceOperand, n: int(ch - 'a')}
	case ch >= 'A' && ch <= 'C':
		return piece{kind: pieceReg, n: int(ch - 'A')}
	case ch == 'k':
		return piece{kind: pieceLog}
	case ch == 'n':
		return piece{kind: pieceRest}
	case ch == 'm':
		return piece{kind: pieceMask}
	case ch == 'L':
		return piece{kind: pieceLabel}
	}
	return piece{kind: pieceInvMask}
}
