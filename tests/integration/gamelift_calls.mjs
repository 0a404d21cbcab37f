// Calls GameLift with AWS's own SDK: one JSON line in is a call, one line out what came of it.
// node gamelift_calls.mjs FOLDER_OF_NODE_MODULES URL json|cbor
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, endpoint, protocol] = process.argv.slice(2);
const require = createRequire(folder + "/");
const sdk = require("@aws-sdk/client-gamelift");
const more =
  protocol === "cbor" ? { protocol: require("@smithy/core/cbor").SmithyRpcV2CborProtocol } : {};
const client = new sdk.GameLiftClient({
  endpoint,
  region: "eu-west-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
  maxAttempts: 1,
  ...more,
});
const sent = new Set();
client.middlewareStack.add(
  (next) => (args) => {
    sent.add(args.request.headers["content-type"]);
    return next(args);
  },
  { step: "finalizeRequest" },
);

for await (const line of createInterface({ input: process.stdin })) {
  const { operation, params } = JSON.parse(line);
  let told;
  try {
    const { $metadata, ...answer } = await client.send(new sdk[operation + "Command"](params));
    told = { answer };
  } catch (error) {
    told = { code: error.name, message: error.message, status: error.$metadata?.httpStatusCode };
  }
  process.stdout.write(JSON.stringify({ ...told, sent: [...sent] }) + "\n");
}
