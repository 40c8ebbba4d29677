// Package generate makes text with language models: it samples tokens, and runs the loop around a
// model that does.
//
// A [Sampler] chooses the tokens of one sequence by the options [Sampling], which have the field's
// names in JSON. [Sample] does it for a batch whose logits are on a device, and copies only what
// decides; [Sampler.Pick] for logits of the host. Both give the same token.
//
//	s, err := generate.NewSampler(generate.Sampling{Temperature: 0.7, TopP: 0.9})
//	s.Prompt(ids)
//	choices, err := generate.Sample(logits, []*generate.Sampler{s})
//	err = s.Accept(choices[0].ID)
//
// Draws are the largest sum of scaled logit and Gumbel noise. The noise of a token is a function of
// the seed, of the position in the sequence and of the token's id alone, so that a draw does not
// depend on what was drawn before, on the device, or on what else is in the batch.
//
// A [Generator] feeds a [Model], chooses, decodes, and stops; it gives tokens with their text as
// they come. A [Session] uses again what it was fed. [Drafter] guesses several tokens for one step,
// and [Generator.Beam] searches for likely texts. A [Batch] runs the generations of many clients.
//
//	g := &generate.Generator[*models.Sequence]{Model: lm, Tokenizer: lm.Tokenizer, EOS: eos}
//	o := generate.Options{MaxTokens: 100, Stop: []string{"\n\n"}}
//	run, err := g.NewSession().Generate(ctx, ids, o)
//	for tok, err := range run.Tokens() {
//		fmt.Print(tok.Text)
//	}
//	fmt.Println(run.Usage().DecodeRate())
package generate
