// Package serve answers OpenAI's HTTP interface with language models: chats, completions,
// embeddings, lists of models, all streamed if wanted; tools, answers that fit a schema,
// probabilities of tokens; and beside it health, metrics and a small page to chat on.
//
//	m := serve.NewModel("name", lm, batch)
//	s, err := serve.New([]*serve.Model{m}, serve.Options{})
//	err = http.ListenAndServe("127.0.0.1:8080", s)
//
// A [Server] is an http.Handler. The generations of all clients of a model run together in its
// [Engine], a generate.Batch. Requests come from outside: their size, the time that they take and how
// many wait are bounded, and what is wrong in one is answered by the field and the reason.
package serve
