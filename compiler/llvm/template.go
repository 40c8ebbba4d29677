package llvm

import (
	"regexp"
	"strings"
)

// pieceKind says what a piece of a template stands for.
type pieceKind uint8

const (
	pieceText    pieceKind = iota
	pieceResult            // $d
	pieceOperand           // $a $b $c
	pieceTemp              // $0 $1 …: temporaries
	pieceLabel             // $L0 $L1 …: labels, placed by $L0: alone
	pieceBefore            // $P: the label of the block that the template begins in
	pieceType              // $t: the type of the value
)

type piece struct {
	kind pieceKind
	n    int // number of the operand, temporary or label
	text string
}

// pattern is one instruction of a template.
type pattern struct {
	pieces  []piece
	place   int    // the label that stands here instead of an instruction, from 1
	declare string // of the function that is called
	inexact bool   // refers to how exact a result must be
}

var placeholder = regexp.MustCompile(`\$(?:L[0-9]|[0-9]+|[a-dPt])`)

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
	if len(line) == 4 && strings.HasPrefix(line, "$L") && line[3] == ':' {
		return pattern{place: int(line[2]-'0') + 1}
	}
	p := pattern{declare: declaration(line), inexact: strings.Contains(line, "!fpmath")}
	at := 0
	for _, m := range placeholder.FindAllStringIndex(line, -1) {
		if m[0] > at {
			p.pieces = append(p.pieces, piece{text: line[at:m[0]]})
		}
		p.pieces = append(p.pieces, parsePlaceholder(line[m[0]+1:m[1]]))
		at = m[1]
	}
	if at < len(line) {
		p.pieces = append(p.pieces, piece{text: line[at:]})
	}
	return p
}

func parsePlaceholder(s string) piece {
	switch ch := s[0]; {
	case ch == 'd':
		return piece{kind: pieceResult}
	case ch >= 'a' && ch <= 'c':
		return piece{kind: pieceOperand, n: int(ch - 'a')}
	case ch == 'L':
		return piece{kind: pieceLabel, n: int(s[1] - '0')}
	case ch == 'P':
		return piece{kind: pieceBefore}
	case ch == 't':
		return piece{kind: pieceType}
	}
	n := 0
	for _, d := range s {
		n = n*10 + int(d-'0')
	}
	return piece{kind: pieceTemp, n: n}
}

var (
	calls   = regexp.MustCompile(`call (?:contract )?(.+?) (@[\w.]+)\((.*)\)`)
	aligned = regexp.MustCompile(` align \d+`)
)

// declaration returns the declaration of the function that an instruction
// calls, "" if it calls none.
func declaration(line string) string {
	m := calls.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	var types []string
	if m[3] != "" {
		for _, arg := range strings.Split(m[3], ", ") {
			arg = aligned.ReplaceAllString(arg, "")
			types = append(types, arg[:strings.LastIndexByte(arg, ' ')])
		}
	}
	return "declare " + m[1] + " " + m[2] + "(" + strings.Join(types, ", ") + ")"
}
