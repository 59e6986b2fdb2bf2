"""Transcripts as requests of model providers, and their answers as messages.

request = encode_anthropic(messages)
answer = decode_anthropic(client.messages.create(**request, ...).model_dump())
"""

from runlane.transcript.providers.anthropic import encode_anthropic
from runlane.transcript.providers.anthropic_answers import AnthropicStream, decode_anthropic
from runlane.transcript.providers.bedrock import encode_bedrock
from runlane.transcript.providers.bedrock_answers import BedrockStream, decode_bedrock
from runlane.transcript.providers.common import Wire
from runlane.transcript.providers.openai_answers import (
    OpenAIChatStream,
    OpenAIResponsesStream,
    decode_openai_chat,
    decode_openai_responses,
)
from runlane.transcript.providers.openai_chat import encode_openai_chat
from runlane.transcript.providers.openai_responses import encode_openai_responses

__all__ = [
    "AnthropicStream",
    "BedrockStream",
    "OpenAIChatStream",
    "OpenAIResponsesStream",
    "Wire",
    "decode_anthropic",
    "decode_bedrock",
    "decode_openai_chat",
    "decode_openai_responses",
    "encode_anthropic",
    "encode_bedrock",
    "encode_openai_chat",
    "encode_openai_responses",
]
