"""An embeddings service as one writes it by hand: FastAPI and onnxruntime, no batching, one text a request.

    python fastapi_service.py MODEL.onnx VOCABULARY THREADS async|pool

THREADS is the number of threads inside one run of the model. `async` runs the model in an `async def` route, which
answers one request after the other; `pool` in a `def` route, which FastAPI runs in its pool of threads. Tokenises as
packages/server/src/models/hashing-tokenizer.ts does, so that its vectors are the same. Prints its port as a line of
JSON, and ends when its standard input does.
"""

import base64
import json
import os
import re
import socket
import sys
import threading
import unicodedata

import fastapi
import numpy
import onnxruntime
import pydantic
import uvicorn

model_path, vocabulary, threads, kind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

CLASSIFY, SEPARATE, SPECIAL = 1, 2, 3
TOKEN = re.compile(r"\w{1,64}|[^\s\w]")
known: dict[str, int] = {}


def id_of(word: str) -> int:
    """FNV-1a over UTF-16 units, with a final mix. Each word is hashed once: a usual tokenizer is not written in Python."""
    if word in known:
        return known[word]
    value = 0x811C9DC5
    units = word.encode("utf-16-le")
    for index in range(0, len(units), 2):
        value = ((value ^ int.from_bytes(units[index : index + 2], "little")) * 0x01000193) & 0xFFFFFFFF
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    known[word] = SPECIAL + ((value ^ (value >> 13)) & 0xFFFFFFFF) % (vocabulary - SPECIAL)
    return known[word]


def encode(text: str) -> list[int]:
    words = TOKEN.findall(unicodedata.normalize("NFKC", text).lower())
    return [CLASSIFY, *map(id_of, words), SEPARATE]


options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model_path, options, providers=["CPUExecutionProvider"])
app = fastapi.FastAPI()


class Request(pydantic.BaseModel):
    model: str
    input: str
    encoding_format: str = "float"


def embed(request: Request) -> dict:
    ids = numpy.array([encode(request.input)], dtype=numpy.int64)
    vector = session.run(["embedding"], {"input_ids": ids, "attention_mask": numpy.ones_like(ids)})[0][0]
    packed = request.encoding_format == "base64"
    embedding = base64.b64encode(vector.tobytes()).decode() if packed else vector.tolist()
    usage = {"prompt_tokens": ids.size, "total_tokens": ids.size}
    data = [{"object": "embedding", "index": 0, "embedding": embedding}]
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


if kind == "async":

    @app.post("/v1/embeddings")
    async def embeddings(request: Request) -> dict:
        return embed(request)

else:

    @app.post("/v1/embeddings")
    def embeddings(request: Request) -> dict:
        return embed(request)


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(2048)
versions = {"onnxruntime": onnxruntime.__version__, "fastapi": fastapi.__version__, "uvicorn": uvicorn.__version__}
print(json.dumps({"port": listener.getsockname()[1], "versions": versions}), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
