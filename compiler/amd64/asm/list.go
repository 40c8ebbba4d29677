package asm

import (
	"fmt"
	"io"
)

// List writes blocks of code and their constants for people, see [Assembler.List].
func List(w io.Writer, blocks [][]Inst, pool []byte, posText func(pos int32) string) error {
	a := Assembler{Keep: true}
	if err := a.Func(len(blocks), func(i int) []Inst { return blocks[i] }); err != nil {
		return err
	}
	if _, _, err := a.Finish(pool); err != nil {
		return err
	}
	return a.List(w, posText)
}

// List writes the code for people: offset, bytes and text of each instruction, where
// blocks begin, and in front of an instruction what posText says of its position in the
// source, if it is not the position of the one before and there is something to say. The
// assembler has had Keep set from the start and is finished.
//
//	.1:
//	                                  # saxpy.go:12
//	    40  62 f1 7c 48 58 04 8e      vaddps zmm0, zmm0, zmmword ptr [rsi + 4*rcx]
func (a *Assembler) List(w io.Writer, posText func(pos int32) string) error {
	l := lister{w: w, posText: posText}
	block, function := 0, 0
	for i := range a.listed {
		in := &a.listed[i]
		for ; block < len(a.blocks) && a.blocks[block] <= in.from; block++ {
			for function+1 < len(a.firsts) && a.firsts[function+1] <= block {
				function++
			}
			if a.blocks[block] >= 0 {
				l.printf(".%d:\n", block-a.firsts[function])
			}
		}
		l.inst(in, a.code[in.from:in.to])
	}
	return l.err
}

// lister writes until the first error.
type lister struct {
	w       io.Writer
	posText func(pos int32) string
	pos     int32
	place   string // the text that was written last
	text    []byte
	err     error
}

func (l *lister) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}

// bytesInLine is how many bytes of code stand in front of the text.
const bytesInLine = 10

func (l *lister) inst(in *listedInst, code []byte) {
	if in.Pos != l.pos && l.posText != nil {
		l.pos = in.Pos
		if s := l.posText(in.Pos); s != "" && s != l.place {
			l.place = s
			l.printf("%*s# %s\n", 8+3*bytesInLine, "", s)
		}
	}
	l.text = in.Append(l.text[:0])
	l.printf("%6x  %-*s%s\n", in.from, 3*bytesInLine, fmt.Sprintf("% x", code[:min(len(code), bytesInLine)]), l.text)
	if len(code) > bytesInLine {
		l.printf("%8s% x\n", "", code[bytesInLine:])
	}
}
