package talk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/gokiln/kiln/models/chat"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tokenizers"
)

// Talk is a conversation.
type Talk[S generate.Sequence] struct {
	Generator *generate.Generator[S]
	Options   generate.Options
	System    string                               // the first message, or ""
	Render    func([]chat.Message) (string, error) // makes a prompt of messages; nil for models without chats
	Out, Err  io.Writer                            // answers; and rates, mistakes
	Constrain func() generate.Constraint           // what each answer has to follow; nil for nothing
	Terminal  bool                                 // a person types: show where

	// Encode reads a text for a model with an encoder, and returns the model that writes what comes
	// of it, and the tokens that this begins with; nil for other models. Each text is for itself.
	Encode func(text string) (generate.Model[S], []int32, error)
	Beams  *generate.BeamOptions // how beams are searched for; nil for one token after the other

	session  *generate.Session[S]
	messages []chat.Message // without that of the system
	text     string         // so far, where there are no chats
}

// Close ends the conversation.
func (t *Talk[S]) Close() {
	if t.session != nil {
		t.session.Close()
	}
}

// Reset forgets what was said.
func (t *Talk[S]) Reset() { t.messages, t.text = nil, "" }

// errBye ends the loop.
var errBye = errors.New("bye")

// maxLine bounds a line.
const maxLine = 16 << 20

// Loop answers lines until the end of in or /bye. Lines between two of """ are one. Mistakes in
// commands are reported, and end nothing.
func (t *Talk[S]) Loop(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for {
		text, ok := t.read(lines)
		if !ok {
			return lines.Err()
		}
		switch err := t.line(ctx, text); {
		case errors.Is(err, errBye):
			return nil
		case errors.Is(err, context.Canceled) && ctx.Err() == nil: // of the answer
			fmt.Fprintln(t.Err, "stopped")
		case err != nil:
			if ctx.Err() != nil {
				return err
			}
			fmt.Fprintf(t.Err, "%v\n", err)
		}
	}
}

// read returns the next line, or several ones.
func (t *Talk[S]) read(lines *bufio.Scanner) (string, bool) {
	t.show(">>> ")
	if !lines.Scan() {
		return "", false
	}
	const mark = `"""`
	text, open := strings.CutPrefix(lines.Text(), mark)
	if !open {
		return text, true
	}
	for {
		if before, ok := strings.CutSuffix(text, mark); ok {
			return before, true
		}
		t.show("... ")
		if !lines.Scan() {
			return text, text != ""
		}
		text += "\n" + lines.Text()
	}
}

func (t *Talk[S]) show(mark string) {
	if t.Terminal {
		fmt.Fprint(t.Out, mark)
	}
}

// line is a command, or what is answered.
func (t *Talk[S]) line(ctx context.Context, text string) error {
	if strings.HasPrefix(text, "/") {
		return t.command(text)
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return t.Answer(ctx, text)
}

// Answer has the model answer a text, and shows that as it comes and then the rates. An interrupt
// ends the answer with [context.Canceled]; what there is of it belongs to the conversation.
func (t *Talk[S]) Answer(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if t.Encode != nil {
		return t.write(ctx, text)
	}
	messages, whole := append(t.messages, chat.Message{Role: "user", Content: text}), t.text+text
	ids, err := t.prompt(messages, whole)
	if err != nil {
		return err
	}
	if t.session == nil {
		t.session = t.Generator.NewSession()
	}
	o := t.Options
	if t.Constrain != nil {
		o.Constraint = t.Constrain()
	}
	run, err := t.session.Generate(ctx, ids, o)
	if errors.Is(err, generate.ErrContext) {
		return fmt.Errorf("%w (/reset begins anew)", err)
	}
	if err != nil {
		return err
	}
	answer, err := t.print(run)
	t.messages, t.text = append(messages, chat.Message{Role: "assistant", Content: answer}), whole+answer
	fmt.Fprintln(t.Out)
	t.rates(run.Usage())
	return err
}

// write has a model with an encoder read a text, and shows what it writes.
func (t *Talk[S]) write(ctx context.Context, text string) error {
	g := *t.Generator
	var start []int32
	var err error
	if g.Model, start, err = t.Encode(text); err != nil {
		return err
	}
	if t.Beams != nil {
		beams, err := g.Beam(ctx, start, *t.Beams)
		if err == nil {
			_, err = fmt.Fprintln(t.Out, beams[0].Text)
		}
		return err
	}
	o := t.Options
	if t.Constrain != nil {
		o.Constraint = t.Constrain()
	}
	s := g.NewSession()
	defer s.Close()
	run, err := s.Generate(ctx, start, o)
	if err != nil {
		return err
	}
	_, err = t.print(run)
	fmt.Fprintln(t.Out)
	t.rates(run.Usage())
	return err
}

// prompt is the ids that the model gets.
func (t *Talk[S]) prompt(messages []chat.Message, whole string) ([]int32, error) {
	if t.Render == nil {
		return t.Generator.Tokenizer.IDs(whole, tokenizers.Options{SpecialTokens: true})
	}
	if t.System != "" {
		messages = append([]chat.Message{{Role: "system", Content: t.System}}, messages...)
	}
	text, err := t.Render(messages)
	if err != nil {
		return nil, fmt.Errorf("the chat template: %w", err)
	}
	return t.Generator.Tokenizer.IDs(text, tokenizers.Options{}) // it has the special tokens itself
}

// print shows the text of a run as it comes.
func (t *Talk[S]) print(run *generate.Run[S]) (string, error) {
	var answer strings.Builder
	for tok, err := range run.Tokens() {
		answer.WriteString(tok.Text)
		if _, err := io.WriteString(t.Out, tok.Text); err != nil {
			return answer.String(), err
		}
		if err != nil {
			return answer.String(), err
		}
	}
	return answer.String(), nil
}

// rates says how fast that was.
func (t *Talk[S]) rates(u generate.Usage) {
	fmt.Fprintf(t.Err, "%d tokens, %.1f tokens/s; prompt: %d tokens, %d of them known, %.1f tokens/s\n",
		u.CompletionTokens, u.DecodeRate(), u.PromptTokens, u.CachedTokens, u.PrefillRate())
}
