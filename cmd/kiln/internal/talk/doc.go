// Package talk is the conversation of kiln run: lines of a person, answers of a model as they are
// generated, and commands that begin with a slash.
//
// A [Talk] has a generator, its options, and what makes a prompt of messages. Without that, a model
// goes on with the text that there is so far.
//
//	t := &talk.Talk[*models.Sequence]{Generator: g, Render: render, Out: os.Stdout, Err: os.Stderr}
//	err := t.Loop(ctx, os.Stdin)
package talk
