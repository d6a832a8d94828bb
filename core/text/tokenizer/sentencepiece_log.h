// SPDX-License-Identifier: Apache-2.0
// Keeps the SentencePiece library from writing to the process's standard error.
#pragma once

namespace hokku {

/// Once for the process; further calls do nothing.
///
/// Threads: safe from any thread.
void silence_sentencepiece();

}  // namespace hokku
