package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/tokenizers"
)

// tokenizeFlags are the flags of kiln tokenize.
type tokenizeFlags struct {
	decode, count, json, special, plain bool
}

func tokenizeCommand() *cobra.Command {
	var f tokenizeFlags
	cmd := &cobra.Command{
		Use:   "tokenize model [text...]",
		Short: "show the tokens of a text, or the text of ids",
		Long: "Tokenize takes the tokenizer of a model: a folder, a name on the Hugging Face hub,\n" +
			"a GGUF file, tokenizer.json, tekken.json or a model of SentencePiece. It prints a line\n" +
			"for each token of the text: its id, the token as the vocabulary has it, which bytes of\n" +
			"the text it stands for, and these. Without text, or for -, the text is the standard input.",
		Example: "  kiln tokenize model.gguf \"Hello, world\"\n" +
			"  kiln tokenize Qwen/Qwen3-0.6B -count < book.txt\n" +
			"  kiln tokenize tokenizer.json -decode 9707 11 1879",
		Args: wanting(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	s := cmd.Flags()
	s.BoolVar(&f.decode, "decode", false, "the arguments are ids: print their text")
	s.BoolVar(&f.count, "count", false, "print how many tokens there are alone")
	s.BoolVar(&f.json, "json", false, "print one JSON object")
	s.BoolVar(&f.special, "special", true, "with the special tokens that\n"+
		"the model wants around a text, and all that are in ids")
	s.BoolVar(&f.plain, "plain", false, "special tokens that the text spells are ordinary characters")
	return cmd
}

func (f *tokenizeFlags) run(cmd *cobra.Command, model string, args []string) error {
	if f.decode && (f.count || f.plain) || f.count && f.json {
		return usageError{errors.New("-decode goes with neither -count nor -plain," +
			" and -count not with -json")}
	}
	path, err := localModel(cmd, model)
	if err != nil {
		return err
	}
	t, err := tokenizers.Open(path)
	if err != nil {
		return err
	}
	text := strings.Join(args, " ")
	if len(args) == 0 || len(args) == 1 && text == "-" {
		b, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return err
		}
		text = string(b)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if f.decode {
		err = f.printText(out, t, text)
	} else {
		err = f.printTokens(out, t, text)
	}
	return errors.Join(err, out.Flush())
}

// printText prints the text of ids, between which are spaces or commas.
func (f *tokenizeFlags) printText(w io.Writer, t *tokenizers.Tokenizer, list string) error {
	ids := []int32{}
	for _, s := range strings.FieldsFunc(list, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",[]", r)
	}) {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return usageError{fmt.Errorf("%q is no id", s)}
		}
		ids = append(ids, int32(id))
	}
	text, err := t.Decode(ids, !f.special)
	if err != nil {
		return err
	}
	if f.json {
		return writeObject(w, map[string]any{"ids": ids, "text": text})
	}
	_, err = fmt.Fprintln(w, text)
	return err
}

func (f *tokenizeFlags) printTokens(w io.Writer, t *tokenizers.Tokenizer, text string) error {
	o := tokenizers.Options{SpecialTokens: f.special, PlainText: f.plain}
	t.Truncation, t.Padding = nil, nil // all tokens of the text, and no other
	if f.count {
		ids, err := t.IDs(text, o)
		if err == nil {
			_, err = fmt.Fprintln(w, len(ids))
		}
		return err
	}
	e, err := t.Encode(text, o)
	if err != nil {
		return err
	}
	if f.json {
		offsets := make([][2]int, len(e.Offsets))
		for i, s := range e.Offsets {
			offsets[i] = [2]int{s.Start, s.End}
		}
		return writeObject(w, map[string]any{
			"ids": append([]int32{}, e.IDs...), "tokens": append([]string{}, e.Tokens...),
			"offsets": offsets,
		})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, id := range e.IDs {
		at := e.Offsets[i]
		if e.Special[i] {
			fmt.Fprintf(table, "%d\t%s\n", id, quoted(e.Tokens[i]))
			continue
		}
		fmt.Fprintf(table, "%d\t%s\t%d-%d\t%q\n", id, quoted(e.Tokens[i]), at.Start, at.End,
			text[at.Start:at.End])
	}
	return table.Flush()
}

// writeObject writes a line of JSON in which characters are as they are.
func writeObject(w io.Writer, object map[string]any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(object)
}

// quoted returns a token in quotes if it has characters that are not seen.
func quoted(token string) string {
	if strings.ContainsFunc(token, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return strconv.Quote(token)
	}
	return token
}
