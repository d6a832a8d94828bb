# SPDX-License-Identifier: Apache-2.0
"""Random JSON schemas, and an independent judgement of texts that were made for them.

    random_schemas.py make COUNT SEED     prints one schema a line
    random_schemas.py check SCHEMAS TEXTS  reads lines [schema index, text as hexadecimal digits];
                                           prints what is not valid, exits with 1 if anything is
"""
import json
import random
import string
import sys

FORMATS = ["date", "time", "uuid", "ipv4", "ipv6", "email", "hostname", "date-time", "duration",
           "uri", "json-pointer"]
PATTERNS = ["^[a-z]+$", "^[A-Z][a-z]*( [A-Z][a-z]*)?$", "b", "^a|z$", "^\\d{3}-\\d{4}$",
            "^(foo|bar)+$", "^[^\"\\\\]{1,5}$", "^\\w+@\\w+\\.org$", "^(a?b?){1,4}$",
            "^[\u00e0-\u00ff]{2}$", "^\"\\\\n\"$", "x.y"]


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.defs = {}

    def chance(self, probability):
        return self.rng.random() < probability

    def name(self):
        if self.chance(0.1):
            return self.rng.choice(["a b", "q\"uote", "back\\slash", "\u00e9\u4e2d", "", "t\tab"])
        return "".join(self.rng.choice(string.ascii_lowercase) for _ in range(self.rng.randint(1, 6)))

    def value(self, depth=2):
        kind = self.rng.randrange(8 if depth else 6)
        if kind == 0:
            return None
        if kind == 1:
            return self.chance(0.5)
        if kind == 2:
            return self.rng.randint(-1000, 1000)
        if kind == 3:
            return round(self.rng.uniform(-10, 10), 2)
        if kind < 6:
            return self.name()
        if kind == 6:
            return [self.value(depth - 1) for _ in range(self.rng.randrange(3))]
        return {self.name(): self.value(depth - 1) for _ in range(self.rng.randrange(3))}

    def integer(self):
        schema = {"type": "integer"}
        low = self.rng.choice([0, 1, -1, 7, -250, 99, 100, 12345, -10**9, 3.5])
        width = self.rng.choice([0, 1, 9, 50, 1000, 10**7])
        if self.chance(0.2):
            return {"type": "integer", "multipleOf": self.rng.randint(1, 40), "minimum": 0}
        if self.chance(0.5):
            schema[self.rng.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(0.5):
            schema[self.rng.choice(["maximum", "exclusiveMaximum"])] = low + width + 2
        return schema

    def number(self):
        schema = {"type": "number"}
        low = self.rng.choice([0, -1, 0.5, -0.125, 3.14159, 100, -99.75, 1e-3, 12345.678])
        width = self.rng.choice([0.001, 0.25, 1, 10, 1000.5])
        if self.chance(0.6):
            schema[self.rng.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(0.6):
            schema[self.rng.choice(["maximum", "exclusiveMaximum"])] = round(low + width, 6)
        return schema

    def text(self):
        schema = {"type": "string"}
        kind = self.rng.randrange(6)
        if kind == 0:
            schema["pattern"] = self.rng.choice(PATTERNS)
        elif kind == 1:
            schema["format"] = self.rng.choice(FORMATS)
        elif kind == 2:
            schema["pattern"] = "^[a-d]*$"
            schema["minLength"] = self.rng.randint(0, 4)
            schema["maxLength"] = schema["minLength"] + self.rng.randint(0, 5)
        elif kind < 5:
            if self.chance(0.7):
                schema["minLength"] = self.rng.randint(0, 12)
            if self.chance(0.7):
                schema["maxLength"] = schema.get("minLength", 0) + self.rng.randint(0, 12)
        return schema

    def array(self, depth):
        schema = {"type": "array"}
        if self.chance(0.2):
            values = [self.value(1) for _ in range(self.rng.randint(2, 5))]
            schema["items"] = {"enum": [v for i, v in enumerate(values) if v not in values[:i]]}
            schema["uniqueItems"] = True
            return schema
        if self.chance(0.3):
            schema["prefixItems"] = [self.schema(depth - 1)
                                     for _ in range(self.rng.randint(1, 3))]
            if self.chance(0.5):
                schema["items"] = self.rng.choice([False, self.schema(depth - 1)])
        elif self.chance(0.9):
            schema["items"] = self.schema(depth - 1)
        if schema.get("items") is not False and self.chance(0.5):
            schema["minItems"] = self.rng.randint(0, 3)
        if self.chance(0.5):
            schema["maxItems"] = schema.get("minItems", 0) + self.rng.randint(0, 3)
        return schema

    def object(self, depth):
        schema = {"type": "object", "properties": {}}
        for _ in range(self.rng.randint(0, 4)):
            schema["properties"][self.name()] = self.schema(depth - 1)
        names = list(schema["properties"])
        if self.chance(0.7):
            schema["required"] = [n for n in names if self.chance(0.5)]
            if self.chance(0.1):
                schema["required"].append("more")
        if self.chance(0.4):
            schema["additionalProperties"] = self.rng.choice(
                [False, True, self.schema(depth - 1)])
        if self.chance(0.15):
            schema["patternProperties"] = {"^[a-c]": self.schema(depth - 1)}
            if self.chance(0.5):
                schema["patternProperties"]["z$"] = self.schema(0)
        if self.chance(0.1):
            schema["propertyNames"] = {"maxLength": 6}
        if self.chance(0.1):
            schema["maxProperties"] = len(schema.get("required", [])) + self.rng.randint(0, 2)
        if self.chance(0.1) and "additionalProperties" not in schema and names:
            schema["minProperties"] = self.rng.randint(0, len(names))
            schema.pop("patternProperties", None)
        return schema

    def union(self, depth):
        kind = self.rng.randrange(4)
        if kind == 0:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]}
        if kind == 1:
            kinds = [{"type": "integer"}, {"type": "boolean"}, {"type": "null"}, self.text(),
                     self.array(depth - 1)]
            return {"oneOf": self.rng.sample(kinds, self.rng.randint(1, 4))}
        if kind == 2:
            branches = []
            for tag in range(self.rng.randint(2, 3)):
                branch = self.object(depth - 1)
                for keyword in ("propertyNames", "maxProperties", "minProperties",
                                "patternProperties"):
                    branch.pop(keyword, None)
                branch["properties"]["kind"] = {"const": "k%d" % tag}
                branch["required"] = branch.get("required", []) + ["kind"]
                branches.append(branch)
            return {"oneOf": branches}
        first, second = self.object(depth - 1), self.object(depth - 1)
        for part in (first, second):
            for keyword in ("additionalProperties", "propertyNames", "maxProperties",
                            "minProperties", "patternProperties"):
                part.pop(keyword, None)
        return {"allOf": [first, second]}

    def reference(self, depth):
        name = "d%d" % len(self.defs)
        self.defs[name] = True
        if self.chance(0.5):
            self.defs[name] = {"type": "object", "properties": {
                "value": self.schema(0), "next": {"$ref": "#/$defs/" + name}}}
        else:
            self.defs[name] = self.schema(depth - 1)
        return {"$ref": "#/$defs/" + name}

    def schema(self, depth):
        kind = self.rng.randrange(16 if depth > 0 else 9)
        if kind == 0:
            return {"type": self.rng.choice(["boolean", "null"])}
        if kind == 1:
            return {"enum": [self.value() for _ in range(self.rng.randint(1, 4))]}
        if kind == 2:
            return {"const": self.value()}
        if kind == 3:
            return self.integer()
        if kind == 4:
            return self.number()
        if kind == 5:
            return {"type": self.rng.sample(["integer", "string", "null", "boolean"], 2)}
        if kind < 9:
            return self.text()
        if kind == 9:
            return self.rng.choice([{}, True])
        if kind < 12:
            return self.object(depth)
        if kind < 14:
            return self.array(depth)
        return self.union(depth) if kind == 14 else self.reference(depth)


def make(count, seed):
    for index in range(count):
        maker = Maker(random.Random("%d-%d" % (seed, index)))
        kind = maker.rng.random()
        if kind < 0.5:
            schema = maker.object(3)
        elif kind < 0.6:
            schema = maker.array(3)
        else:
            schema = maker.schema(3)
        if maker.defs and isinstance(schema, dict):
            schema = dict(schema)
            schema["$defs"] = maker.defs
        print(json.dumps(schema))


def check(schemas_path, texts_path):
    import jsonschema
    with open(schemas_path, encoding="utf-8") as file:
        schemas = [json.loads(line) for line in file]
    validators = [jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER) for schema in schemas]
    num_bad = num_texts = 0
    with open(texts_path, encoding="utf-8") as file:
        for line in file:
            index, digits = json.loads(line)
            num_texts += 1
            try:
                text = bytes.fromhex(digits).decode("utf-8")
                validators[index].validate(json.loads(text))
            except (ValueError, jsonschema.ValidationError) as error:
                num_bad += 1
                print("schema %s\n  text %s\n  %s" % (json.dumps(schemas[index]),
                                                     bytes.fromhex(digits),
                                                     str(error).split("\n")[0]))
    print("%d texts, %d not valid" % (num_texts, num_bad))
    return 1 if num_bad or not num_texts else 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]))
